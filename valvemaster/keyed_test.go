package valvemaster

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/uplink"
)

// askKeyed requests the list as Xash3D does and returns the packets of the answer.
func (v *valve) askKeyed(from, filter string) (pages []KeyedList) {
	v.t.Helper()
	v.w.Take()
	a := netip.MustParseAddrPort(from)
	if dropped := v.send(a, ListRequest{Region: AnyRegion, Seed: Start, Filter: []byte(filter)}.AppendTo(nil)); dropped != uplink.NotDropped {
		v.t.Fatalf("filter %q from %v: dropped: %s", filter, a, dropped)
	}
	for _, s := range v.w.Take() {
		l, err := ParseKeyedList(s.data)
		if err != nil || s.to != a {
			v.t.Fatalf("filter %q: answer %x to %v: %v", filter, s.data, s.to, err)
		}
		pages = append(pages, l)
	}
	return pages
}

const xashFilter = `\gamedir\cstrike\clver\0.21\nat\0\commit\0123abcd\branch\master\os\linux\arch\amd64\buildnum\4321\key\12ab34cd`

func TestKeyStandsBeforeTheServers(t *testing.T) {
	tests := map[string]struct {
		filter string
		want   []byte // before the server; nil: no key
	}{
		"eight digits":        {`\gamedir\cstrike\key\12ab34cd`, []byte{0x7F, 0xCD, 0x34, 0xAB, 0x12, 8}},
		"capitals":            {`\key\12AB34CD\gamedir\cstrike`, []byte{0x7F, 0xCD, 0x34, 0xAB, 0x12, 8}},
		"one digit":           {`\key\f`, []byte{0x7F, 0x0F, 0, 0, 0, 8}},
		"zero":                {`\key\0`, []byte{0x7F, 0, 0, 0, 0, 8}},
		"nine digits":         {`\key\123456789`, nil},
		"no digits":           {`\key\`, nil},
		"no number":           {`\key\12zz`, nil},
		"with another prefix": {`\key\0x12`, nil},
		"no key":              {`\gamedir\cstrike`, nil},
	}
	for name, tc := range tests {
		v := newValve(t, nil)
		populate(t, v.list, 1)
		want := append([]byte("\xff\xff\xff\xfff\n"), tc.want...)
		want = append(want, 100, 64, 0, 0, 0x69, 0x87, 0, 0, 0, 0, 0, 0)
		got := v.one(netip.MustParseAddrPort("203.0.113.1:1"), ListRequest{Region: AnyRegion, Seed: Start, Filter: []byte(tc.filter)}.AppendTo(nil))
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", name, got, want)
		}
	}
}

func TestKeyedRequestOfTrustedAddress(t *testing.T) {
	for listed, want := range map[int]int{0: 0, 1: 1, mostKeyed: mostKeyed, mostKeyed + 1: mostKeyed + 1, maxKeyed: maxKeyed, 2000: maxKeyed} {
		v := newValve(t, func(o *Options) { o.Trusted = func(netip.Addr) bool { return true } })
		all := populate(t, v.list, listed)
		var got []string
		pages := v.askKeyed("203.0.113.1:1", xashFilter)
		for i, p := range pages {
			if p.Key != 0x12AB34CD || len(p.Servers) > mostKeyed || p.Last != (i == len(pages)-1 && listed <= maxKeyed) {
				t.Errorf("%d servers, packet %d: key %x, %d servers, last %v", listed, i, p.Key, len(p.Servers), p.Last)
			}
			for _, s := range p.Servers {
				got = append(got, s.String())
			}
		}
		if diff := cmp.Diff(all[:want], got); diff != "" && want > 0 {
			t.Errorf("%d servers (-want +got):\n%s", listed, diff)
		}
	}
}

func TestKeyedRequestsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 5
		v := newValve(t, func(o *Options) { o.KeyedPages = most })
		populate(t, v.list, 1000)
		size := func(from string) int {
			pages := v.askKeyed(from, xashFilter)
			if len(pages) != 1 {
				t.Fatalf("%s is sent %d packets, want 1", from, len(pages))
			}
			return len(pages[0].Servers)
		}
		for i := range keyedPerAddr + 1 {
			want := mostKeyed
			if i == keyedPerAddr {
				want = mostSmall - 1
			}
			if got := size(fmt.Sprintf("203.0.113.1:%d", 1+i)); got != want {
				t.Errorf("page %d of an address has %d servers, want %d", i, got, want)
			}
		}
		for i := range most - keyedPerAddr + 1 {
			want := mostKeyed
			if i == most-keyedPerAddr {
				want = mostSmall - 1
			}
			if got := size(fmt.Sprintf("203.0.114.%d:1", i)); got != want {
				t.Errorf("page %d of other addresses has %d servers, want %d", i, got, want)
			}
		}
		time.Sleep(uplink.BudgetWindow)
		if got := size("203.0.113.1:9"); got != mostKeyed {
			t.Errorf("ten seconds later a page has %d servers, want %d", got, mostKeyed)
		}
	})
}

func TestKeyedPagesMayBeSmallForAll(t *testing.T) {
	v := newValve(t, func(o *Options) { o.KeyedPages = 0 })
	populate(t, v.list, 1000)
	if pages := v.askKeyed("203.0.113.1:1", xashFilter); len(pages) != 1 || len(pages[0].Servers) != mostSmall-1 {
		t.Errorf("got %d packets of %d servers, want one of %d", len(pages), len(pages[0].Servers), mostSmall-1)
	}
}

func TestKeyedPageSize(t *testing.T) {
	for _, filter := range []string{`\key\1`, `\gamedir\cstrike\key\1`, xashFilter} {
		v := newValve(t, nil)
		populate(t, v.list, 1000)
		p := ListRequest{Region: AnyRegion, Seed: Start, Filter: []byte(filter)}.AppendTo(nil)
		got := len(v.one(netip.MustParseAddrPort("203.0.113.1:1"), p))
		if most := min(maxList, keyedFactor*len(p)); got > most || got < most-2*entrySize {
			t.Errorf("request of %d bytes: answer of %d, want about %d", len(p), got, most)
		}
	}
}

// The end of a keyed page can be foretold, so it proves nothing.
func TestKeyedPageIsNoBeginningOfAWalk(t *testing.T) {
	v := newValve(t, nil)
	populate(t, v.list, 1000)
	a := netip.MustParseAddrPort("203.0.113.1:1")
	pages := v.askKeyed(a.String(), xashFilter)
	r := ListRequest{Region: AnyRegion, Seed: pages[0].Servers[len(pages[0].Servers)-1]}
	for range proofEchoes {
		if got := len(v.ask(a, r).Servers); got > mostSmall {
			t.Fatalf("got a page of %d servers, want at most %d", got, mostSmall)
		}
	}
	if v.walks.bySource[a].echoes != 0 {
		t.Error("the seed counted as an echo")
	}
}

func TestParseKeyedListUndoesAppendTo(t *testing.T) {
	for _, l := range []KeyedList{
		{Key: 0, List: List{Last: true}},
		{Key: 0xFFFFFFFF, List: List{Servers: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8")}}},
		{Key: 1, List: List{Servers: []netip.AddrPort{netip.MustParseAddrPort("1.2.3.4:5")}, Last: true}},
	} {
		got, err := ParseKeyedList(l.AppendTo(nil))
		if diff := cmp.Diff(l, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", l, err, diff)
		}
	}
	for name, p := range map[string]string{
		"nothing": "", "no key": "\xff\xff\xff\xfff\n", "half a key": "\xff\xff\xff\xfff\n\x7f1234",
		"other mark": "\xff\xff\xff\xfff\n\x7e1234\x08", "other end": "\xff\xff\xff\xfff\n\x7f1234\x09", "half a server": "\xff\xff\xff\xfff\n\x7f1234\x08123",
	} {
		if _, err := ParseKeyedList([]byte(p)); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
