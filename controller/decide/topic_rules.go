package decide

import (
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/config"
)

const uncleanElection = "unclean.leader.election.enable"

// topicRules answers what a topic's settings mean for the leaders and ISRs of its partitions. It
// resolves settings only for topics that have their own.
type topicRules struct {
	env *Env
	m   *image.Image
	// hasELR tells whether eligible leader replicas are kept (KIP-966).
	hasELR bool

	// settings and defaults, which holds for topics without overrides, are resolved when first needed;
	// settings is nil before.
	settings *config.Broker
	defaults topicRule
}

// topicRule is one topic's.
type topicRule struct {
	minISR int
	// unclean allows elections that may lose records.
	unclean bool
}

func newTopicRules(env *Env, m *image.Image) *topicRules {
	return &topicRules{env: env, m: m, hasELR: m.FeatureLevel(image.EligibleLeaderReplicasVersion) > 0}
}

// of returns a topic's rule. The oracle limits minISR to the replicas of the topic's first partition; for
// a partition of its own size it makes no difference, since nobody is left to be eligible when all replicas are
// in sync.
func (r *topicRules) of(t *image.Topic) topicRule {
	if r.settings == nil {
		r.settings = r.env.settings()
		r.defaults = r.resolve(nil)
	}
	overrides := r.m.Config(image.ResourceTopic, t.Name)
	_, hasMin := overrides.Get(minInsync)
	_, hasUnclean := overrides.Get(uncleanElection)
	if hasMin || hasUnclean {
		return r.resolve(overrides.Map())
	}
	return r.defaults
}

func (r *topicRules) resolve(overrides map[string]string) topicRule {
	t := r.settings.Topic(overrides)
	return topicRule{minISR: int(t.MinInsyncReplicas), unclean: t.UncleanLeaderElection}
}

// electionOf is how a topic's partitions are elected a leader when they lose theirs.
func (r *topicRules) electionOf(t *image.Topic) election {
	if r.of(t).unclean {
		return electUnclean
	}
	return electOnline
}
