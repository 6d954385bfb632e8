package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/storage"
)

const (
	// lastSave bounds the save of a daemon that stops.
	lastSave = 3 * time.Second
	// saveAfter is how many new records are saved before master.save_every is
	// over: it bounds what is left to write when the daemon stops.
	saveAfter = 10_000
	// saveLook is how often their number is looked at.
	saveLook = time.Second
)

// saveList saves the list from time to time.
func (d *daemon) saveList(ctx context.Context) {
	tick := time.NewTicker(saveLook)
	defer tick.Stop()
	last, failed := time.Now(), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// The interval may change on a reload.
		early := !failed && d.registry.Revision()-d.saved >= saveAfter
		if !early && time.Since(last) < time.Duration(d.saveEvery.Load()) {
			continue
		}
		err := d.saveNow(ctx)
		if err != nil && ctx.Err() == nil {
			d.log.Error().Err(err).Msg("the server list was not saved")
		}
		if err == nil {
			d.compactList(ctx)
		}
		last, failed = time.Now(), err != nil
	}
}

// saveNow saves what is new in the list since the last time.
func (d *daemon) saveNow(ctx context.Context) error {
	began := time.Now()
	list, revision := d.registry.Records()
	saved, err := d.store.SaveServers(ctx, listed(list, d.saved))
	if err != nil {
		return fmt.Errorf("saving the server list: %w", err)
	}
	d.saved = revision
	d.log.Debug().Int("servers", saved.Servers).Int("written", saved.Written).Stringer("took", time.Since(began).Round(time.Millisecond)).Msg("server list saved")
	return nil
}

// compactList removes from the store what the last saves have replaced.
func (d *daemon) compactList(ctx context.Context) {
	if err := d.store.CompactServers(ctx); err != nil && ctx.Err() == nil {
		d.log.Warn().Err(err).Msg("the saved server list was not compacted")
	}
}

// saveLast saves the list of a daemon that stops. A save that takes too long is
// given up: the list as it was saved before stays, and the others report again.
func (d *daemon) saveLast() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastSave)
	defer cancel()
	err := d.saveNow(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		d.log.Warn().Err(err).Msg("the last changes of the server list were not saved")
		return nil
	}
	return err
}

// listed yields the list as the store keeps it. Records up to a revision are
// saved already.
func listed(list []master.Heard, revision uint64) iter.Seq[storage.ListedServer] {
	return func(yield func(storage.ListedServer) bool) {
		var h master.Heard
		record := func() storage.Server { return pack(h) }
		for _, h = range list {
			if h.Restored {
				h.Last = h.Seen // being restored is no sign of life
			}
			l := storage.ListedServer{Source: h.Key.Source, Seen: h.Last, Changed: h.Revision > revision, Record: record}
			if !yield(l) {
				return
			}
		}
	}
}

// pack makes a record to be saved of one of the list.
func pack(h master.Heard) storage.Server {
	s := storage.Server{
		Source: h.Key.Source, Via: h.Via, Instance: h.Key.Instance, Game: h.Game, Origin: h.Origin.String(),
		Public: h.Public, Local: h.Local, NATNeg: h.NATNeg, Reached: reachedWord(h.Findings.Reached),
		Country: h.Country, Region: h.Region, First: h.First, Seen: h.Last,
	}
	if text, ok := h.Unread(); ok && h.Origin == master.FromQR2 {
		s.Report = []byte(text)
		return s
	}
	s.Rules, s.Players, s.Teams = packRules(h.Rules), packTable(h.Players), packTable(h.Teams)
	return s
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
		d.book.Note(noting(s.Origin), rec.Source, rec.Game, verdicts.Restored)
		restored++
	}
	d.saved = d.registry.Revision() // what was not restored is not in the next list
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
		g.Name, known = d.catalogue.Catalog().ListedAs(rec.Game, origin == master.FromValve)
	case master.FromQR2, master.FromQR1, master.FromZandronum:
	}
	if !known || !valid {
		return s, false
	}
	s = master.Server{
		Key: master.Key{Source: rec.Source, Instance: rec.Instance}, Game: g.Name, Origin: origin,
		Public: rec.Public, Via: rec.Via, Local: rec.Local, NATNeg: rec.NATNeg,
		Findings: master.Findings{Reached: reachedThen(&rec)}, Country: rec.Country, Region: rec.Region,
		First: rec.First,
	}
	if len(rec.Report) > 0 {
		d.reports.Into(&s, d.reports.KeptText(string(rec.Report)))
		return s, origin == master.FromQR2
	}
	var report master.Report
	d.unpackRules(&report, rec.Rules)
	players, rows := d.unpackTable(rec.Players, report.Player)
	report.SetPlayers(players, rows)
	teams, rows := d.unpackTable(rec.Teams, report.Team)
	report.SetTeams(teams, rows)
	return s, report.Into(&s) == nil
}

// reachedThen returns how players got to a saved server. Lists of earlier versions
// say only that it answered a port that it never talked to.
func reachedThen(rec *storage.Server) master.Reached {
	if rec.Reached == "" && rec.Reachable {
		return master.ReachedPerhaps
	}
	return master.ParseReached(rec.Reached)
}

// reachedWord is the inverse of reachedThen.
func reachedWord(r master.Reached) string {
	if r == master.ReachedUnknown {
		return ""
	}
	return r.String()
}

// packRules writes rules as a heartbeat does.
func packRules(f master.Fields) []byte {
	var b []byte
	for name, value := range f.All() {
		b = gamespy.AppendPair(b, name, value)
	}
	return gamespy.AppendEnd(b)
}

// packTable writes a table as a heartbeat does; nil if it is none that a
// heartbeat could bring.
func packTable(t master.Table) []byte {
	if t.Columns() == 0 {
		return nil
	}
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 512), uint16(t.Rows()))
	for c := range t.Columns() {
		name := t.Names().Name(c)
		if strings.HasPrefix(name, "\x00") {
			return nil // it would end the names
		}
		b = gamespy.AppendString(b, name)
	}
	b = gamespy.AppendEnd(b)
	for r := range t.Rows() {
		for c := range t.Columns() {
			b = gamespy.AppendString(b, t.Value(r, c))
		}
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
