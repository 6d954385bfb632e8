package serverbrowse

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/master/filter"
	"github.com/respawnd/respawnd/qr2"
)

// countingDecoder reads a text as the name of a host, and counts its calls.
type countingDecoder struct {
	reg   *master.Registry
	calls atomic.Int64
}

func (d *countingDecoder) Decode(text []byte, _ master.Shape, into *master.Report) {
	d.calls.Add(1)
	into.Rule(text)
	into.SetRules(d.reg.Names([]string{"hostname"}))
}

func TestReadAhead(t *testing.T) {
	reg := newTestRegistry()
	d := &countingDecoder{reg: reg}
	src := reg.NewSource(d)
	list := func(n int) (all []*master.Server) {
		for i := range n {
			a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{20, 1, byte(i >> 8), byte(i)}), 6500)
			s := master.Server{Origin: qr2.Origin, Key: master.Key{Source: a}, Game: "gmtest", Public: a}
			src.Into(&s, src.Text([]byte(fmt.Sprint("server ", i))))
			if err := reg.Put(s); err != nil {
				t.Fatal(err)
			}
			all = append(all, &s)
		}
		return all
	}
	t.Run("few", func(t *testing.T) {
		readAhead(list(aheadFrom - 1))()
		if n := d.calls.Load(); n != 0 {
			t.Errorf("%d reports were read, want none", n)
		}
	})
	t.Run("all are read once", func(t *testing.T) {
		list(aheadFrom)
		names, _ := fieldNames(`\hostname`)
		for range 2 { // the second time all have been read
			v, err := new(builder).build(reg, viewKey{game: "gmtest", port: 6500}, names, new(filter.Filter), nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range decodeView(t, v).Entries {
				if a := e.Public.Addr().As4(); len(e.Values) != 1 || e.Values[0] != fmt.Sprint("server ", int(a[2])<<8|int(a[3])) {
					t.Fatalf("entry %d: %+v", i, e)
				}
			}
			if n := d.calls.Load(); n != aheadFrom || v.entries() != aheadFrom {
				t.Errorf("%d servers in the list and %d reports were read, want %d", v.entries(), n, aheadFrom)
			}
		}
	})
}
