package master

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestServersOfTrialsAreInTheirListOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Limits{})
		at := netip.AddrPortFrom(TrialAddr(), 1000)
		key := Key{Source: at, Instance: 7}
		if err := r.Put(Server{Origin: Static, Key: key, Game: "gmtest", Public: at, Seen: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if s, ok := r.Get(key); !ok || !r.HasAt(at.Addr()) || !r.Touch(key, Static, time.Now()) || !r.Report(key, Findings{Relayed: true}) || !r.Update(s) {
			t.Errorf("who reported %v does not find it", at)
		}
		if got, _ := r.Snapshot("gmtest", nil); len(got) > 0 || len(r.All()) > 0 || r.Len() > 0 || r.LastSerial() > 0 || r.AnyPrivate() || len(r.Counts()) > 0 {
			t.Errorf("readers find %v", got)
		}
		if _, ok := r.Find(at); ok {
			t.Errorf("readers find %v", at)
		}
		if got, _ := r.Trials().Snapshot("gmtest", nil); len(got) != 1 {
			t.Errorf("the list of trials has %v, want one server", got)
		}
		gone := make(chan *Server, 1)
		go func() { _ = r.Run(t.Context(), func(s *Server) { gone <- s }) }()
		if s := <-gone; s.Key != key || r.Trials().Len() > 0 || r.Remove(key) {
			t.Errorf("%v expired, want %v, once", s.Key, key)
		}
	})
}

func TestTrialAddressesAreOfThisMachine(t *testing.T) {
	for range 1000 {
		if a := TrialAddr(); !IsTrial(a) || !a.IsLoopback() {
			t.Fatalf("%v is the address of a trial", a)
		}
	}
	if a := netip.MustParseAddr("127.0.0.1"); IsTrial(a) {
		t.Errorf("%v is the address of a trial", a)
	}
}
