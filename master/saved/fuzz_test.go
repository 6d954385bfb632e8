package saved

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/storetest"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/valvemaster"
	"github.com/respawnd/respawnd/zanmaster"
)

// A saved record may hold any values; the restored server can be listed and
// saved again unchanged.
func FuzzRestoredServer(f *testing.F) {
	table, err := gamespy.AppendTable(nil, []string{"player_", "score_"}, [][]string{{"Ann", "1"}, {"Bob", "2"}})
	if err != nil {
		f.Fatal(err)
	}
	report := append(gamespy.AppendEnd(gamespy.AppendPair(nil, "hostname", "As it came")), table...)
	for _, seed := range []struct {
		rules, players []byte
		origin         byte
	}{
		{gamespy.AppendEnd(gamespy.AppendPair(nil, "hostname", "A server")), table, 0},
		{[]byte("a"), []byte{0xff}, 1},
		{nil, []byte{0xff, 'a', 0, 0}, 2},
		{[]byte{0, 0, 0}, table[:len(table)/2], 3},
		{bytes.Repeat([]byte("k\x00v\x00"), 300), bytes.Repeat(table, 3), 4},
	} {
		f.Add(seed.rules, seed.players, table, []byte(nil), seed.origin, "192.0.2.1:6500")
	}
	f.Add([]byte(nil), []byte(nil), []byte(nil), report, byte(0), "192.0.2.1:6500")
	f.Add([]byte(nil), []byte(nil), []byte(nil), bytes.Repeat([]byte("k\x00v\x00"), 10_000), byte(0), "192.0.2.1:6500")
	store := storetest.New(f)
	d := listOn(f, store)
	origins := []*master.Origin{qr2.Origin, qr2.OldOrigin, zanmaster.Origin, valvemaster.Origin, master.Found, master.Static}
	f.Fuzz(func(t *testing.T, rules, players, teams, report []byte, origin byte, public string) {
		d.fill(master.Limits{})
		rec := storage.Server{
			Source: netip.MustParseAddrPort("192.0.2.1:6500"), Game: testGame, Origin: origins[int(origin)%len(origins)].String(),
			Report: report, Rules: rules, Players: players, Teams: teams, First: time.Unix(1, 0), Seen: time.Now(),
		}
		rec.Public, _ = netip.ParseAddrPort(public)
		if checkSaved(&rec) != nil {
			return
		}
		s, ok := d.unpack(rec)
		if !ok {
			return
		}
		s.Seen = rec.Seen
		if err := d.Registry.Put(s); err != nil {
			t.Fatalf("Put() = %v", err)
		}
		list, _ := d.Registry.Records()
		for l := range d.listed(list) {
			again := l.Record()
			if err := again.Check(); err != nil {
				t.Fatalf("what was restored cannot be saved: %v", err)
			}
			back, ok := d.unpack(again)
			if !ok {
				t.Fatalf("what was restored and saved is not restored again")
			}
			if len(again.Report) > 0 {
				if !bytes.Equal(again.Report, report) {
					t.Errorf("saved again it is\n%q, was\n%q", again.Report, report)
				}
				continue // and below it would be read
			}
			if !bytes.Equal(packRules(back.Rules), again.Rules) || !bytes.Equal(packTable(back.Players), again.Players) {
				t.Errorf("saved again it is\n%q\n%q, was\n%q\n%q", packRules(back.Rules), packTable(back.Players), again.Rules, again.Players)
			}
		}
	})
}
