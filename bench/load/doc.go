// Package load drives a Kafka-compatible broker over plain sockets. Requests are encoded once and
// sent again and again with another correlation id; of an answer only what tells success and the
// next offset is looked at. So the generator takes little of the cores that it shares with the
// broker. Every connection is run by one goroutine, which keeps a fixed number of requests in flight.
package load
