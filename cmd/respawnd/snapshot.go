package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/probe"
	"github.com/respawnd/respawnd/storage"
)

// timeFormat is how times are written in answers to tools.
const timeFormat = time.RFC3339

// grace is how long open connections may take to end when the daemon stops.
const grace = time.Second

// saveTimeout bounds a save of the list, the last one included.
const saveTimeout = 2 * time.Second

// saveList saves the list from time to time.
func (d *daemon) saveList(ctx context.Context) {
	for {
		// Not a ticker: the interval may change on a reload.
		timer := time.NewTimer(time.Duration(d.saveEvery.Load()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			if err := d.saveNow(ctx); err != nil && ctx.Err() == nil {
				d.log.Error().Err(err).Msg("the server list was not saved")
			}
		}
	}
}

func (d *daemon) saveNow(ctx context.Context) error {
	began := time.Now()
	n, err := d.store.SaveServers(ctx, saved(append(d.registry.All(), d.registry.Hidden()...)))
	if err != nil {
		return fmt.Errorf("saving the server list: %w", err)
	}
	d.log.Debug().Int("servers", n).Stringer("took", time.Since(began).Round(time.Millisecond)).Msg("server list saved")
	return nil
}

// saved yields the list as the store keeps it.
func saved(list []master.Heard) iter.Seq[storage.Server] {
	return func(yield func(storage.Server) bool) {
		for _, h := range list {
			if h.Restored {
				h.Last = h.Seen // being restored is no sign of life
			}
			s := storage.Server{
				Source: h.Key.Source, Via: h.Via, Instance: h.Key.Instance, Game: h.Game, Origin: h.Origin.String(),
				Public: h.Public, Local: h.Local, NATNeg: h.NATNeg, Reachable: h.Findings.Reachable,
				Country: h.Country, Region: h.Region,
				Rules: packRules(h.Rules), Players: packTable(h.Players), Teams: packTable(h.Teams),
				First: h.First, Seen: h.Last,
			}
			if !yield(s) {
				return
			}
		}
	}
}

// lostServers tells the operator that the saved list was damaged.
const lostServers = "part of the saved server list is damaged and was dropped; those servers are listed again when they report"

// restoreList lists the saved servers that were alive when the daemon stopped,
// for a while and until they are heard.
func (d *daemon) restoreList(ctx context.Context) error {
	window := d.cfg.Master.RestoreFor
	if window <= 0 {
		return nil
	}
	now := time.Now()
	restored, damaged := 0, 0
	var damage error // the first one
	for rec, err := range d.store.LoadServers(ctx) {
		if err == nil {
			err = checkSaved(&rec)
		}
		if err != nil {
			damaged++
			damage = cmp.Or(damage, err)
			continue
		}
		if now.Sub(rec.Seen) > window || now.Before(rec.Seen.Add(-window)) {
			continue
		}
		s, ok := d.unpack(rec)
		if !ok || d.bannedServer(s.Origin, rec.Source.Addr()) {
			continue
		}
		s.Seen, s.Lifetime, s.Restored = rec.Seen, window, true
		if err := d.registry.Put(s); err != nil {
			continue // the limits were lowered since
		}
		d.book.Note(rec.Origin, rec.Source, rec.Game, verdicts.Restored)
		restored++
	}
	if damaged > 0 {
		d.log.Warn().Err(damage).Int("parts", damaged).Msg(lostServers)
	}
	if restored > 0 {
		d.log.Info().Int("servers", restored).Stringer("for", window).Msg("server list restored")
	}
	return nil
}

// checkSaved refuses a record that no save has written: others rely on the
// addresses of what is listed.
func checkSaved(rec *storage.Server) error {
	if err := rec.Check(); err != nil {
		return err
	}
	if !rec.Public.IsValid() || slices.ContainsFunc(rec.Local, func(a netip.AddrPort) bool { return !a.IsValid() }) {
		return fmt.Errorf("%w: server without an address", storage.ErrInvalid)
	}
	return nil
}

// unpack makes a record of a saved one. ok is false for origins that are not
// known any more and for games that are not in the catalogue, unless the server
// was asked for its game.
func (d *daemon) unpack(rec storage.Server) (s master.Server, ok bool) {
	origin, valid := master.ParseOrigin(rec.Origin)
	g, known := d.catalogue.Catalog().Lookup(rec.Game)
	switch origin {
	case master.Static, master.FromValve, master.FromLAN:
		// The game may have got a key since.
		g.Name, known = probe.ListedAs(d.catalogue.Catalog(), origin, rec.Game)
	case master.FromQR2, master.FromQR1, master.FromZandronum:
	}
	if !known || !valid {
		return s, false
	}
	s = master.Server{
		Key: master.Key{Source: rec.Source, Instance: rec.Instance}, Game: g.Name, Origin: origin,
		Public: rec.Public, Via: rec.Via, Local: rec.Local, NATNeg: rec.NATNeg,
		Findings: master.Findings{Reachable: rec.Reachable}, Country: rec.Country, Region: rec.Region,
		First: rec.First,
	}
	var report master.Report
	d.unpackRules(&report, rec.Rules)
	players, rows := d.unpackTable(rec.Players, report.Player)
	report.SetPlayers(players, rows)
	teams, rows := d.unpackTable(rec.Teams, report.Team)
	report.SetTeams(teams, rows)
	return s, report.Into(&s) == nil
}

// packRules writes rules as a heartbeat does.
func packRules(f master.Fields) []byte {
	var b []byte
	for name, value := range f.All() {
		b = gamespy.AppendPair(b, name, value)
	}
	return gamespy.AppendEnd(b)
}

// packTable writes a table as a heartbeat does; nil if it is empty.
func packTable(t master.Table) []byte {
	columns := make([]string, t.Columns())
	for c := range columns {
		columns[c] = t.Names().Name(c)
	}
	rows := make([][]string, t.Rows())
	for r := range rows {
		rows[r] = make([]string, len(columns))
		for c := range columns {
			rows[r][c] = t.Value(r, c)
		}
	}
	b, err := gamespy.AppendTable(nil, columns, rows)
	if err != nil {
		return nil // a table that no heartbeat could have brought
	}
	return b
}

func (d *daemon) unpackRules(report *master.Report, b []byte) {
	var names []string
	var values [][]byte
	pairs := gamespy.Pairs(b)
	for pairs.Next() {
		names, values = append(names, string(pairs.Key())), append(values, pairs.Value())
	}
	kept := d.registry.Names(names)
	for i, value := range values {
		if _, slot := kept.ReportedName(i); slot >= 0 {
			report.Rule(value)
		}
	}
	report.SetRules(kept)
}

func (d *daemon) unpackTable(b []byte, add func([]byte)) (*master.Names, int) {
	t, _, complete := gamespy.ParseTable(b)
	if !complete {
		return nil, 0
	}
	var columns []string
	for c := range t.Columns() {
		columns = append(columns, string(c))
	}
	for cell := range t.Cells() {
		add(cell.Value) // only kept columns were saved, so none is dropped now
	}
	return d.registry.Names(columns), t.Rows()
}
