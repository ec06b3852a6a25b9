package commitlog

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/internal/kerror"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/log/batch"
)

// TestVerification shows the guard on a log: the first batch of a transaction is taken only with it, a marker
// or a restart voids it, and markers of transactions v2 need a higher epoch than the records.
func TestVerification(t *testing.T) {
	e := newEnv(vfs.NewMem())
	l := mustOpen(t, e)
	e.m.SetVerifyTransactions(true)
	txn := func(sequence int32, guard VerificationGuard) error {
		_, err := l.Append(produced(sequence, 1, true), AppendOptions{Guard: guard})
		return err
	}
	marker := func(epoch int16, version int16) error {
		raw := batch.AppendEndTxnMarker(nil, testStart.UnixMilli(), 1, epoch, batch.EndTxnMarker{Commit: true})
		_, err := l.Append(raw, AppendOptions{Origin: OriginCoordinator, TransactionVersion: version})
		return err
	}
	expect := func(what string, err error, want *kerr.Error) {
		t.Helper()
		code := int16(0)
		if want != nil {
			code = want.Code
		}
		if kerror.CodeOf(err) != code {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	ask := func(sequence int32) VerificationGuard {
		t.Helper()
		g, err := l.StartVerification(1, sequence, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	expect("without a guard", txn(0, NoGuard), kerr.InvalidTxnState)
	g := ask(0)
	if g == NoGuard || ask(0) != g {
		t.Errorf("guard %d, then %d", g, ask(0))
	}
	expect("with another guard", txn(0, g+1), kerr.InvalidTxnState)
	expect("with the guard", txn(0, g), nil)
	if again := ask(1); again != NoGuard {
		t.Errorf("guard %d for an open transaction", again)
	}
	expect("an open transaction", txn(1, NoGuard), nil)
	expect("a v2 marker of the records' epoch", marker(0, 2), kerr.InvalidProducerEpoch)
	expect("a marker", marker(0, 1), nil)
	expect("the next transaction", txn(2, NoGuard), kerr.InvalidTxnState)
	g = ask(2)
	expect("a marker sent again", marker(0, 1), nil)
	expect("a guard from before the marker", txn(2, g), kerr.InvalidTxnState)

	g = ask(2)
	if err := l.TruncateTo(l.LogEndOffset() - 1); err != nil {
		t.Fatal(err)
	}
	expect("a guard from before a truncation", txn(2, g), kerr.InvalidTxnState)
	if next := ask(2); next <= g {
		t.Errorf("guard %d was given again, as %d", g, next)
	}
	g = ask(2)
	expect("with the next guard", txn(2, g), nil)
	expect("a v2 marker of the next epoch", marker(1, 2), nil)
	expect("and again", marker(1, 2), nil)
	expect("an older one", marker(0, 2), kerr.InvalidProducerEpoch)

	e.m.SetVerifyTransactions(false)
	if off, err := l.StartVerification(2, 0, 0, false); err != nil || off != NoGuard {
		t.Errorf("guard %d, %v where nothing is verified", off, err)
	}
	if err := e.m.Close(); err != nil {
		t.Fatal(err)
	}
}
