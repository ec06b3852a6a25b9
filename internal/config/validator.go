package config

import (
	"slices"
	"strconv"
	"strings"
)

// Validator checks a parsed value of a key; its errors have the text of Kafka's ConfigException.
type Validator interface {
	// String is how Kafka describes the valid values, such as "[1,...]".
	String() string
	check(k *Key, v Value) error
}

// invalid is the error for a parsed value, which shows as Java prints the object.
func invalid(k *Key, v Value, reason string) error {
	text := k.Format(v)
	if text == nil {
		return &ValueError{Name: k.Name, Null: true, Reason: reason}
	}
	return &ValueError{Name: k.Name, Value: *text, Reason: reason}
}

func plainError(k *Key, text string) error { return &ValueError{Name: k.Name, Plain: text} }

// numberRange is ConfigDef.Range. Bounds are compared as doubles, as Kafka does.
type numberRange struct {
	min, max float64
	bounded  bool
}

func atLeast(minimum float64) Validator { return numberRange{min: minimum} }

func between(minimum, maximum float64) Validator {
	return numberRange{min: minimum, max: maximum, bounded: true}
}

func formatBound(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (r numberRange) String() string {
	if r.bounded {
		return "[" + formatBound(r.min) + ",...," + formatBound(r.max) + "]"
	}
	return "[" + formatBound(r.min) + ",...]"
}

func (r numberRange) check(k *Key, v Value) error {
	n := float64(v.Int)
	if k.Type == TypeDouble {
		n = v.Double
	}
	switch {
	case v.Null:
		return invalid(k, v, "Value must be non-null")
	case n < r.min:
		return invalid(k, v, "Value must be at least "+formatBound(r.min))
	case r.bounded && n > r.max:
		return invalid(k, v, "Value must be no more than "+formatBound(r.max))
	}
	return nil
}

// stringSet is ConfigDef.ValidString and CaseInsensitiveValidString.
type stringSet struct {
	values []string
	fold   bool
}

func oneOf(values ...string) Validator     { return stringSet{values: values} }
func oneOfFold(values ...string) Validator { return stringSet{values: values, fold: true} }

func (s stringSet) String() string {
	text := "[" + strings.Join(s.values, ", ") + "]"
	if s.fold {
		text = "(case insensitive) " + text
	}
	return text
}

func (s stringSet) check(k *Key, v Value) error {
	has := func(want string) bool { return want == v.Text || s.fold && strings.EqualFold(want, v.Text) }
	if !v.Null && slices.ContainsFunc(s.values, has) {
		return nil
	}
	reason := "String must be one of"
	if s.fold {
		reason += " (case insensitive)"
	}
	return invalid(k, v, reason+": "+strings.Join(s.values, ", "))
}

// nonEmpty is ConfigDef.NonEmptyString.
type nonEmpty struct{}

func (nonEmpty) String() string { return "non-empty string" }

func (nonEmpty) check(k *Key, v Value) error {
	if !v.Null && v.Text == "" {
		return invalid(k, v, "String must be non-empty")
	}
	return nil
}

// nonNull is ConfigDef.NonNullValidator.
type nonNull struct{}

func (nonNull) String() string { return "non-null string" }

func (nonNull) check(k *Key, v Value) error {
	if v.Null {
		return invalid(k, v, "entry must be non null")
	}
	return nil
}

// listOf is ConfigDef.ValidList: no empty parts, and no others than the valid ones.
type listOf struct {
	notEmpty bool
	nullable bool
	// valid is nil where any part is.
	valid []string
}

func (l listOf) String() string {
	if l.valid == nil {
		return ""
	}
	return "[" + strings.Join(l.valid, ", ") + "]"
}

func (l listOf) check(k *Key, v Value) error {
	switch {
	case v.Null && l.nullable:
		return nil
	case v.Null:
		return plainError(k, "Configuration '"+k.Name+"' values must not be null.")
	case len(v.List) == 0 && l.notEmpty:
		valid := "any non-empty value"
		if l.valid != nil {
			valid = l.String()
		}
		return plainError(k, "Configuration '"+k.Name+"' must not be empty. Valid values include: "+valid)
	}
	for _, part := range v.List {
		if part == "" {
			return plainError(k, "Configuration '"+k.Name+"' values must not be empty.")
		}
		if l.valid != nil && !slices.Contains(l.valid, part) {
			return &ValueError{Name: k.Name, Value: part, Reason: "String must be one of: " + strings.Join(l.valid, ", ")}
		}
	}
	return nil
}

// gzipLevel is 1 to 9, or -1 for the library's default.
type gzipLevel struct{}

func (gzipLevel) String() string { return "[1,...,9] or -1" }

func (gzipLevel) check(k *Key, v Value) error {
	if v.Null {
		return invalid(k, v, "Value must be non-null")
	}
	if v.Int != -1 && (v.Int < 1 || v.Int > 9) {
		return invalid(k, v, "Value must be between 1 and 9 or equal to -1")
	}
	return nil
}

// throttledReplicas is nothing, "*", or partition:broker pairs.
type throttledReplicas struct{}

const throttledReplicasFormat = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."

func (throttledReplicas) String() string { return throttledReplicasFormat }

func (throttledReplicas) check(k *Key, v Value) error {
	if len(v.List) == 0 || len(v.List) == 1 && v.List[0] == "*" {
		return nil
	}
	for _, part := range v.List {
		partition, broker, ok := strings.Cut(part, ":")
		if !ok || !digits(partition) || !digits(broker) {
			return &ValueError{
				Name: k.Name, Value: "[" + strings.Join(v.List, ", ") + "]",
				Reason: k.Name + " must be the literal '*' or a list of replicas in the following format: " + throttledReplicasFormat,
			}
		}
	}
	return nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// quorumVoters is controller.quorum.voters.
type quorumVoters struct{}

func (quorumVoters) String() string { return "non-empty list" }

func (quorumVoters) check(k *Key, v Value) error {
	_, err := parseVoters(k, v.List)
	return err
}

// bootstrapServers is controller.quorum.bootstrap.servers.
type bootstrapServers struct{}

func (bootstrapServers) String() string { return "non-empty list" }

func (bootstrapServers) check(k *Key, v Value) error {
	_, err := parseBootstrapServers(k, v.List)
	return err
}

// offsetReset is where a share group starts.
type offsetReset struct{}

func (offsetReset) String() string { return "[latest, earliest, by_duration:PnDTnHnMn.nS]" }

func (offsetReset) check(k *Key, v Value) error {
	if v.Text == "earliest" || v.Text == "latest" {
		return nil
	}
	if rest, ok := strings.CutPrefix(v.Text, "by_duration:"); ok {
		if d, err := ParseISODuration(rest); err == nil && d >= 0 {
			return nil
		}
	}
	text := "null"
	if !v.Null {
		text = v.Text
	}
	return invalid(k, v, "Invalid value `"+text+"` for configuration "+k.Name+
		". The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.")
}
