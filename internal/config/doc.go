// Package config knows every configuration key of Apache Kafka 4.4.0 and turns texts into settings.
//
// It owns the tables of keys (brokers, topics, groups, client metrics) with type, default, validator
// and synonyms; reads Kafka's server.properties and the container image's environment; resolves a
// setting through the hierarchy topic override, dynamic broker, dynamic cluster default, static
// broker, default; and makes the rows of DescribeConfigs. It doesn't store dynamic settings: those
// are in the cluster image and handed in as maps.
//
// A name that ends in .ms stays a count of milliseconds as int64, since -1 and -2 have meanings.
//
// All types are immutable after construction and may be shared by goroutines; Store is the one that
// changes, by an atomic pointer.
package config
