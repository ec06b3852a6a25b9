package decide

import (
	"github.com/ottla/ottla/controller/image"
	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/record/metadata"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicIDsVersion is the first version of DeleteTopics that names topics by id too.
const topicIDsVersion = 6

// disabledErrorVersion is the first version of DeleteTopics that knows TOPIC_DELETION_DISABLED.
const disabledErrorVersion = 3

// deleteTopics decides as ControllerApis.deleteTopics does.
func deleteTopics(env *Env, req *kmsg.DeleteTopicsRequest) Decision {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	d := &topicDeleter{env: env, names: map[string]int{}, ids: map[image.ID]int{}}
	topics := req.Topics
	if req.Version < topicIDsVersion {
		topics = nil
		for _, name := range req.TopicNames {
			t := kmsg.NewDeleteTopicsRequestTopic()
			t.Topic = &name
			topics = append(topics, t)
		}
	}
	if !env.settings().Topics.DeleteEnable {
		err := kerr.TopicDeletionDisabled
		if req.Version < disabledErrorVersion {
			err = kerr.InvalidRequest
		}
		for i := range topics {
			resp.Topics = append(resp.Topics, deletionResult(topics[i].Topic, topics[i].TopicID, err))
		}
		return Decision{Response: resp}
	}
	d.count(topics)
	for i := range topics {
		if r, ok := d.delete(&topics[i]); ok {
			resp.Topics = append(resp.Topics, r)
		}
	}
	return Decision{Records: d.records, Response: resp}
}

// topicDeleter decides on the topics of one request.
type topicDeleter struct {
	env *Env
	// names and ids count how often each is named by itself; 0 once it was answered as a duplicate.
	names   map[string]int
	ids     map[image.ID]int
	records []metadata.Record
}

func (d *topicDeleter) count(topics []kmsg.DeleteTopicsRequestTopic) {
	for i := range topics {
		switch t := &topics[i]; {
		case t.Topic != nil && t.TopicID == (image.ID{}):
			d.names[*t.Topic]++
		case t.Topic == nil && t.TopicID != (image.ID{}):
			d.ids[t.TopicID]++
		}
	}
}

// delete answers one topic of the request; false if its name or id was answered already.
func (d *topicDeleter) delete(t *kmsg.DeleteTopicsRequestTopic) (kmsg.DeleteTopicsResponseTopic, bool) {
	noID := t.TopicID == (image.ID{})
	switch {
	case t.Topic == nil && noID:
		return deletionResult(nil, t.TopicID, kerror.New(kerr.InvalidRequest, "Neither topic name nor id were specified.")), true
	case t.Topic != nil && !noID:
		return deletionResult(t.Topic, t.TopicID, kerror.New(kerr.InvalidRequest, "You may not specify both topic name and topic id.")), true
	case t.Topic != nil:
		return d.deleteByName(*t.Topic)
	}
	return d.deleteByID(t.TopicID)
}

func (d *topicDeleter) deleteByName(name string) (kmsg.DeleteTopicsResponseTopic, bool) {
	switch n := d.names[name]; {
	case n == 0:
		return kmsg.DeleteTopicsResponseTopic{}, false
	case n > 1:
		d.names[name] = 0
		return deletionResult(&name, image.ID{}, errDuplicateTopic), true
	}
	t := d.env.Image.Topic(name)
	if t == nil {
		return deletionResult(&name, image.ID{}, kerror.New(kerr.UnknownTopicOrPartition, textUnknownTopic)), true
	}
	if d.ids[t.ID] > 0 {
		d.ids[t.ID] = 0
		return deletionResult(&name, t.ID, errNameAndID), true
	}
	return d.remove(t), true
}

var errNameAndID = kerror.New(kerr.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")

func (d *topicDeleter) deleteByID(id image.ID) (kmsg.DeleteTopicsResponseTopic, bool) {
	switch n := d.ids[id]; {
	case n == 0:
		return kmsg.DeleteTopicsResponseTopic{}, false
	case n > 1:
		d.ids[id] = 0
		return deletionResult(nil, id, kerror.New(kerr.InvalidRequest, "Duplicate topic id.")), true
	}
	t := d.env.Image.TopicByID(id)
	if t == nil {
		return deletionResult(nil, id, kerror.New(kerr.UnknownTopicID, textUnknownTopicID)), true
	}
	if d.names[t.Name] == 1 {
		d.names[t.Name] = 0
		return deletionResult(&t.Name, id, errNameAndID), true
	}
	return d.remove(t), true
}

func (d *topicDeleter) remove(t *image.Topic) kmsg.DeleteTopicsResponseTopic {
	d.records = append(d.records, &metadata.RemoveTopicRecord{TopicID: t.ID})
	return deletionResult(&t.Name, t.ID, nil)
}

func deletionResult(name *string, id image.ID, err error) kmsg.DeleteTopicsResponseTopic {
	t := kmsg.NewDeleteTopicsResponseTopic()
	t.Topic, t.TopicID = name, id
	t.ErrorCode, t.ErrorMessage = codeAndMessage(err)
	return t
}
