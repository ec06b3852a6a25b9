package wire

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestEnveloped takes requests and responses of all versions through an envelope.
func TestEnveloped(t *testing.T) {
	id := "client"
	for v := int16(2); v <= 7; v++ {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version, req.TimeoutMillis = v, 77
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic = "a"
		req.Topics = append(req.Topics, rt)
		b := AppendEnveloped(nil, Header{CorrelationID: 9, ClientID: &id}, req)
		h, got, err := ReadEnveloped(b)
		if err != nil || h.Key != req.Key() || h.Version != v || h.CorrelationID != 9 || *h.ClientID != id {
			t.Fatalf("version %d: %+v, %v", v, h, err)
		}
		if again := AppendEnveloped(nil, h, got); !bytes.Equal(again, b) {
			t.Errorf("version %d: %x came back as %x", v, b, again)
		}
		for n := range b {
			if _, _, err := ReadEnveloped(b[:n]); err == nil {
				t.Errorf("version %d: %d of %d bytes were read", v, n, len(b))
			}
		}
		resp := kmsg.NewPtrCreateTopicsResponse()
		r := kmsg.NewCreateTopicsResponseTopic()
		r.Topic, r.ErrorCode = "a", 36
		resp.Topics = append(resp.Topics, r)
		back, err := ReadEnvelopedResponse(AppendEnvelopedResponse(nil, h, resp), req)
		if err != nil || back.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode != 36 {
			t.Errorf("version %d: %+v, %v", v, back, err)
		}
	}
	if _, err := ReadEnvelopedResponse([]byte{0}, kmsg.NewPtrCreateTopicsRequest()); err == nil {
		t.Error("a response of one byte was read")
	}
	for _, req := range []kmsg.Request{kmsg.NewPtrProduceRequest(), &kmsg.CreateTopicsRequest{Version: 1}, &kmsg.CreateTopicsRequest{Version: 8}} {
		if _, _, err := ReadEnveloped(AppendEnveloped(nil, Header{}, req)); err == nil {
			t.Errorf("%s version %d is served in an envelope", kmsg.NameForKey(req.Key()), req.GetVersion())
		}
	}
}

// TestPrincipal compares with the bytes that Kafka's DefaultKafkaPrincipalBuilder writes by its schema.
func TestPrincipal(t *testing.T) {
	p := Principal{Type: "User", Name: "ANONYMOUS"}
	b := AppendPrincipal(nil, p)
	if want := append([]byte{0, 0, 5, 'U', 's', 'e', 'r', 10}, "ANONYMOUS\x00\x00"...); !bytes.Equal(b, want) {
		t.Errorf("%x, want %x", b, want)
	}
	if got, err := ReadPrincipal(b); err != nil || got != p {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range b {
		if _, err := ReadPrincipal(b[:n]); err == nil {
			t.Errorf("%d of %d bytes were read", n, len(b))
		}
	}
	if _, err := ReadPrincipal(append(b, 1)); err == nil {
		t.Error("what follows was ignored")
	}
}
