// Command chaos runs a cluster of three nodes, each in a network namespace of its own, breaks it in every way that
// machines and cables break, and checks that nothing that was acknowledged is lost, doubled or changed: what
// producers were told, what consumers read and what each replica stores at the end must agree.
//
//	go run ./chaos -duration 30m              Ottla
//	go run ./chaos -duration 10m -kafka LIBS  Apache Kafka, for comparison
//
// It needs root, for the namespaces, and Linux. Nothing outside the namespaces is touched.
package main
