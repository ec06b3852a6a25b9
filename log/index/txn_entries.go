package index

import "slices"

// Entries is a copy of all entries, for tools.
func (x *Txn) Entries() ([]AbortedTxn, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.load(); err != nil {
		return nil, err
	}
	return slices.Clone(x.entries), nil
}
