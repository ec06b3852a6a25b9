package commitlog

import "github.com/ottla/ottla/log/producer"

// StartVerification is called before the coordinator is asked whether a producer's transaction includes this
// partition; the guard goes with the append of the batch. NoGuard says that nothing needs to be asked: the
// transaction is open here, or nothing is verified on this broker. Questions of one producer at the same time
// share a guard, which a marker voids. supportsEpochBump says that the producer uses transactions v2.
// INVALID_PRODUCER_EPOCH if the epoch is an old one. (KIP-890; Kafka:
// UnifiedLog.maybeStartTransactionVerification.)
func (l *Log) StartVerification(producerID int64, sequence int32, producerEpoch int16, supportsEpochBump bool) (VerificationGuard, error) {
	if !l.host.verifiesTransactions() {
		return NoGuard, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return NoGuard, err
	}
	g, err := l.producers.StartVerification(producerID, sequence, producerEpoch, supportsEpochBump, l.clk.Now().UnixMilli())
	return VerificationGuard(g), err
}

// checkOptions says to the producer state who appends, and what is known of the transaction.
func checkOptions(o *AppendOptions) producer.CheckOptions {
	c := producer.CheckOptions{
		Origin: producer.OriginClient, Guard: producer.Guard(o.Guard), TransactionVersion: o.TransactionVersion,
	}
	if o.Origin == OriginCoordinator {
		c.Origin = producer.OriginCoordinator
	}
	return c
}

// verifiesTransactions implements host.
func (m *Manager) verifiesTransactions() bool { return m.verify.Load() }

// SetVerifyTransactions changes transaction.partition.verification.enable; the next append goes by it.
func (m *Manager) SetVerifyTransactions(on bool) { m.verify.Store(on) }
