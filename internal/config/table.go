package config

import "slices"

// keyFlag marks what is rare in the tables.
type keyFlag uint8

const (
	// internal keys aren't described.
	internal keyFlag = 1 << iota
	// nullDefault is a default of null.
	nullDefault
	// required is a key without default.
	required
)

// keyRow is one line of a table.
type keyRow struct {
	name       string
	typ        Type
	def        string
	validator  Validator
	importance Importance
	mode       UpdateMode
	flags      keyFlag
}

// buildKeys turns table rows, sorted by name, into keys.
func buildKeys(rows []keyRow) []Key {
	keys := make([]Key, len(rows))
	for i, r := range rows {
		keys[i] = Key{
			Name: r.name, Type: r.typ, Default: r.def, Validator: r.validator,
			HasDefault: r.flags&(nullDefault|required) == 0,
			Required:   r.flags&required != 0,
			Internal:   r.flags&internal != 0,
			Importance: r.importance, UpdateMode: r.mode,
		}
	}
	return keys
}

// withSynonyms sets the synonyms of keys.
func withSynonyms(keys []Key, synonyms map[string][]Synonym) []Key {
	for i := range keys {
		keys[i].Synonyms = synonyms[keys[i].Name]
	}
	return keys
}

// withEffective marks the keys that this broker acts on.
func withEffective(keys []Key, names []string) []Key {
	for i := range keys {
		_, keys[i].Effective = slices.BinarySearch(names, keys[i].Name)
	}
	return keys
}
