package master

import (
	"errors"
	"net/netip"
	"testing"
	"time"
)

func TestMirror(t *testing.T) {
	r := NewRegistry(Limits{Mirror: true})
	r.SetLimits(Limits{Mirror: true})
	srv := Server{Key: Key{Source: netip.MustParseAddrPort("192.0.2.1:6500")}, Public: netip.MustParseAddrPort("192.0.2.1:6500"), Game: "a", Seen: time.Now()}
	srv.Origin = &Origin{Name: "reports"}
	if err := r.Put(srv); !errors.Is(err, ErrFull) {
		t.Errorf("a server that reports: %v", err)
	}
	if err := r.Trials().Put(srv); err != nil {
		t.Errorf("in the list of self-tests: %v", err)
	}
	srv.Origin = Federated
	if err := r.Put(srv); err != nil {
		t.Errorf("a federated server: %v", err)
	}
	if !r.Made().IsZero() {
		t.Errorf("made at %v before anything was read", r.Made())
	}
	at := time.Unix(1_700_000_000, 0)
	r.SetMade(at)
	if !r.Made().Equal(at) {
		t.Errorf("made at %v, want %v", r.Made(), at)
	}
	if r.SetLimits(Limits{}); !r.Made().IsZero() {
		t.Error("a list that is no mirror says when it was made")
	}
}
