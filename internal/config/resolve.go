package config

import "strconv"

// candidates lists everything that could give the value of a topic, group or client metrics key,
// strongest first: the override, what is set on the broker for its synonyms, and the default of the
// first synonym. own is the source of overrides. Texts of synonyms are as they were set.
func (b *Broker) candidates(k *Key, overrides map[string]string, own Source) []setting {
	var found []setting
	if text, ok := overrides[k.Name]; ok {
		found = append(found, setting{k.Name, text, own})
	}
	if len(k.Synonyms) == 0 {
		return found
	}
	for _, s := range k.Synonyms {
		found = append(found, b.explicit(s.Name)...)
	}
	return found
}

// resolve is the value in force of a topic or group key: override, then the broker's settings of its
// synonyms (the first synonym that is set anywhere wins), then the default.
func (b *Broker) resolve(k *Key, overrides map[string]string, own Source) (Value, Source) {
	if text, ok := overrides[k.Name]; ok {
		if v, err := k.Parse(&text); err == nil {
			return v, own
		}
	}
	for _, s := range k.Synonyms {
		for _, set := range b.explicit(s.Name) {
			if v, ok := s.convert(k, set.text); ok {
				return v, set.source
			}
		}
	}
	if len(k.Synonyms) > 0 {
		if broker := BrokerKeys().Lookup(k.Synonyms[0].Name); broker.HasDefault {
			if v, ok := k.Synonyms[0].convert(k, broker.Default); ok {
				return v, SourceDefault
			}
		}
	}
	return k.defaultValue(), SourceDefault
}

// convert reads a broker key's text as the value of the key that it stands for.
func (s Synonym) convert(k *Key, text string) (Value, bool) {
	if s.Factor != 0 {
		n, err := parseJavaInt(trimJava(text), 64)
		if err != nil {
			return Value{}, false
		}
		if n >= 0 {
			n *= s.Factor
		}
		text = strconv.FormatInt(n, 10)
	}
	v, err := k.Parse(&text)
	return v, err == nil
}
