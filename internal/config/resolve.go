package config

import "strconv"

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
		n = max(n*s.Factor, -1)
		text = strconv.FormatInt(n, 10)
	}
	v, err := k.Parse(&text)
	return v, err == nil
}
