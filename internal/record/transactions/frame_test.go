package transactions

import (
	"bytes"
	"errors"
	"testing"
)

// TestRefusals checks that damaged and unknown records are errors of the right kind.
func TestRefusals(t *testing.T) {
	var typeErr *TypeError
	if _, err := ReadKey([]byte{0x7f, 0x7f}); !errors.As(err, &typeErr) || typeErr.Type != 0x7f7f {
		t.Errorf("unknown key type: %v", err)
	}
	var versionErr *VersionError
	if _, _, err := ReadValue(0, []byte{0, 9, 0}); !errors.As(err, &versionErr) || versionErr.Version != 9 {
		t.Errorf("unknown version: %v", err)
	}
	full := AppendValue(nil, &TransactionLogValue{}, 0)
	for n := range full {
		if _, _, err := ReadValue(0, full[:n]); err == nil {
			t.Errorf("%d of %d bytes were read without an error", n, len(full))
		}
	}
}

// FuzzRecords feeds keys and values: whatever is accepted is encoded to what decodes and encodes to the same.
func FuzzRecords(f *testing.F) {
	f.Add(AppendKey(nil, &TransactionLogKey{}), AppendValue(nil, &TransactionLogValue{}, 0))
	f.Add([]byte{0, 1, 0, 1, 'g', 0, 0}, []byte{0, 0})
	f.Fuzz(func(t *testing.T, keyBytes, valueBytes []byte) {
		key, err := ReadKey(keyBytes)
		if err != nil {
			return
		}
		encoded := AppendKey(nil, key)
		if again, err := ReadKey(encoded); err != nil || !bytes.Equal(AppendKey(nil, again), encoded) {
			t.Fatalf("key %+v came back as %+v: %v", key, again, err)
		}
		value, version, err := ReadValue(key.RecordType(), valueBytes)
		if err != nil {
			return
		}
		_ = value.AppendJSON(key.AppendJSON(nil, 0), version)
		encoded = AppendValue(nil, value, version)
		back, _, err := ReadValue(key.RecordType(), encoded)
		if err != nil || !bytes.Equal(AppendValue(nil, back, version), encoded) {
			t.Fatalf("value %+v came back as %+v: %v", value, back, err)
		}
	})
}
