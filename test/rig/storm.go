package rig

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/operator"
	"github.com/respawnd/respawnd/storage"
)

// Fact is a statement that must hold after a crash, because a daemon has
// acknowledged it.
type Fact struct {
	Text string
	not  bool // it must not hold
}

// Storm is a daemon that is about to be killed, as its writers see it.
type Storm struct {
	At     map[string]netip.AddrPort
	Op     operator.Conn
	acks   chan<- acked
	killed *atomic.Bool
}

// acked holds the facts that were acknowledged to a writer.
type acked struct {
	writer string
	facts  []Fact
}

// StormWriter changes one kind of data. write makes one change, to an object of
// its own called name, and returns the facts that hold from then on.
type StormWriter struct {
	Name  string
	Write func(ctx context.Context, s *Storm, name string) ([]Fact, error)
}

// Storm runs all writers and calls kill, which ends the daemon or what it needs, at a
// random moment after each received an acknowledgement. It returns once all writers ended.
func (c *Child) Storm(dir string, round int, counts map[string]int, truth map[string]Fact, kill func()) {
	c.T.Helper()
	acks := make(chan acked)
	var killed atomic.Bool
	var writers sync.WaitGroup
	for i, w := range StormWriters() {
		s := &Storm{At: c.Address, Op: c.Client(dir), acks: acks, killed: &killed}
		writers.Go(func() { s.run(c.T, w, fmt.Sprintf("r%dw%dn", round, i)) })
	}
	go func() { writers.Wait(); close(acks) }()
	quiet := make(map[string]bool)
	for _, w := range StormWriters() {
		quiet[w.Name] = true
	}
	left := rand.IntN(150)
	for a := range acks {
		counts[a.writer]++
		delete(quiet, a.writer)
		for _, f := range a.facts {
			truth[f.Text] = f
		}
		if left--; left < 0 && len(quiet) == 0 && !killed.Swap(true) {
			kill() // others are under way
		}
	}
	if !killed.Load() {
		c.T.Errorf("storm %d ended by itself, without a word for %v:\n%s", round, quiet, c.Log)
	}
}

// run writes until the daemon is gone.
func (s *Storm) run(t testing.TB, w StormWriter, prefix string) {
	for n := 0; ; n++ {
		facts, err := w.Write(t.Context(), s, fmt.Sprint(prefix, n))
		if err != nil {
			if !s.killed.Load() {
				t.Errorf("%s: %v", w.Name, err)
				s.acks <- acked{writer: w.Name} // the others need not wait for this one
			}
			return
		}
		s.acks <- acked{w.Name, facts}
	}
}

// CheckTruth fails the test unless all acknowledged facts hold, and reports whether they do.
// A message that was delivered is a fact no longer.
func CheckTruth(t *testing.T, c *Child, dir string, truth map[string]Fact, round int) (hold bool) {
	t.Helper()
	have, noted := readTruth(t, c.Client(dir))
	var keys []string
	for _, f := range truth {
		kind, rest, _ := strings.Cut(f.Text, " ")
		switch kind {
		case "password":
			name, password, _ := strings.Cut(rest, " ")
			have[f.Text] = TakesPassword(t, c, name, password)
		case "message":
			name, text, _ := strings.Cut(rest, " ")
			have[f.Text] = hears(t, c, name, text)
			defer delete(truth, f.Text)
		case "cdkey":
			keys = append(keys, rest)
		default:
			continue
		}
	}
	checkKeys(t, c, keys, round)
	lost := 0
	for _, f := range truth {
		if kind, _, _ := strings.Cut(f.Text, " "); kind == "cdkey" || have[f.Text] != f.not {
			continue
		}
		if lost++; lost <= 20 {
			t.Errorf("after kill %d %q is %v, although the contrary was acknowledged", round, f.Text, !f.not)
		}
	}
	hold = lost == 0
	// The audit log has an entry for every change, and no other entries.
	for text := range noted {
		if !have[text] {
			hold = false
			t.Errorf("after kill %d the audit log tells of %q, which is not so", round, text)
		}
	}
	for text := range have {
		if strings.HasPrefix(text, "ban ") && !noted[text] {
			hold = false
			t.Errorf("after kill %d the audit log knows nothing of %q", round, text)
		}
	}
	return hold
}

// readTruth returns the facts, and the bans that should exist according to the
// audit log.
func readTruth(t *testing.T, op operator.Conn) (have, noted map[string]bool) {
	t.Helper()
	ctx := t.Context()
	have, noted = make(map[string]bool), make(map[string]bool)
	list, err := operator.ListBans.Call(ctx, op, operator.None{})
	Must(t, err)
	for _, b := range list {
		have["ban "+b.Prefix.String()] = true
	}
	all, err := operator.ListGames.Call(ctx, op, operator.None{})
	Must(t, err)
	for _, g := range all {
		have["game "+g.Name] = true
	}
	rooms, err := operator.ListRooms.Call(ctx, op, operator.GameQuery{Game: TestGame})
	Must(t, err)
	for _, r := range rooms {
		have["room "+r.Name] = true
	}
	kept, err := operator.ListKept.Call(ctx, op, operator.None{})
	Must(t, err)
	for _, a := range kept.Added {
		have["added "+a.Address] = true
	}
	for _, h := range kept.Hidden {
		have["hidden "+h.Address.String()] = true
	}
	for before := uint64(0); ; {
		page, err := operator.ReadAudit.Call(ctx, op, operator.AuditQuery{Before: before, Limit: operator.MaxAuditPage})
		Must(t, err)
		for _, e := range page.Entries { // the newest first
			have["audit "+e.Action+" "+e.Subject] = true
			ban := "ban " + strings.TrimSuffix(e.Subject, " (all)")
			if _, known := noted[ban]; !known && strings.HasPrefix(e.Action, "ban.") {
				noted[ban] = e.Action == "ban.add"
			}
		}
		if before = page.Next; before == 0 {
			break
		}
	}
	for text, there := range noted {
		if !there {
			delete(noted, text)
		}
	}
	readAccounts(t, op, have)
	readGames(t, op, have)
	return have, noted
}

// readGames adds the facts about what games keep for their players.
func readGames(t *testing.T, op operator.Conn, have map[string]bool) {
	t.Helper()
	for after, more := uint32(0), true; more; {
		records, err := operator.ListSakeRecords.Call(t.Context(), op, operator.SakeQuery{Game: TestGame, Table: StormTable, After: after})
		if !errors.Is(err, storage.ErrNoTable) {
			Must(t, err)
		}
		for _, r := range records {
			title, _ := r.Field("title")
			have[fmt.Sprintf("sake %d %s", r.ID, title)] = true
			after = r.ID
		}
		more = len(records) > 0
	}
	var export bytes.Buffer
	leftOut, err := operator.ExportStats.Call(t.Context(), op, operator.None{}, &export)
	Must(t, err)
	if leftOut > 0 {
		t.Errorf("%d statistics cannot be read", leftOut)
	}
	for all := json.NewDecoder(&export); all.More(); {
		var s operator.StoredStats
		Must(t, all.Decode(&s))
		for _, b := range s.Blocks {
			have[fmt.Sprintf("statistics %d %s", s.Profile, b.Data)] = true
		}
	}
}

// hears reports whether a message waited for a player, who signs in and out.
func hears(t *testing.T, c *Child, name, text string) bool {
	t.Helper()
	p, err := Enter(t.Context(), c.Address["gpcm"], name)
	Must(t, err)
	heard, err := p.CaughtUp()
	Must(t, err)
	Must(t, p.MustLeave())
	return slices.ContainsFunc(heard, func(m string) bool { return strings.HasPrefix(m, `\bm\1\`) && Field(m, "msg") == text })
}

// readAccounts adds the facts about the accounts.
func readAccounts(t *testing.T, op operator.Conn, have map[string]bool) {
	t.Helper()
	var export bytes.Buffer
	leftOut, err := operator.ExportAccounts.Call(t.Context(), op, operator.AccountExport{Secrets: false}, &export)
	Must(t, err)
	if leftOut > 0 {
		t.Errorf("%d accounts cannot be read", leftOut)
	}
	lines := bufio.NewScanner(&export)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a accounts.Account
		Must(t, json.Unmarshal(lines.Bytes(), &a))
		have["account "+a.Email] = true
		have["banned "+a.Email] = !a.Ban.Added.IsZero()
		for _, p := range a.Profiles {
			id := strconv.Itoa(int(p.Profile.ID))
			have["nick "+a.Email+" "+p.Profile.Nick] = true
			have["firstname "+id+" "+p.Profile.FirstName] = true
			for _, u := range p.Profile.UniqueNicks {
				have["uniquenick "+u.Nick] = true
			}
			for _, other := range p.Blocks {
				have[fmt.Sprint("block ", id, " ", other)] = true
			}
			for _, other := range p.Buddies {
				have[fmt.Sprint("buddy ", id, " ", other)] = true
			}
		}
	}
	Must(t, lines.Err())
}

// TakesPassword reports whether an account of the storm opens with a password.
func TakesPassword(t *testing.T, c *Child, name, password string) bool {
	t.Helper()
	answer, err := AskSearch(t.Context(), c.Address["gpsp"], fmt.Sprintf(
		`\check\\nick\%s\email\%s@example.com\partnerid\0\passenc\%s\gamename\gmtest\final\`,
		name, name, gamespy.EncodePassword(password)))
	Must(t, err)
	return strings.HasPrefix(answer, `\cur\0\pid\`)
}

// checkKeys fails if a new account can register one of the CD keys.
func checkKeys(t *testing.T, c *Child, keys []string, round int) {
	t.Helper()
	if len(keys) == 0 {
		return
	}
	thief := fmt.Sprint("thief", round)
	if NewUser(t.Context(), c.Address["gpsp"], thief) == "" {
		t.Fatal("no account")
	}
	p, err := Enter(t.Context(), c.Address["gpcm"], thief)
	Must(t, err)
	for _, key := range keys {
		Must(t, p.MustSend(`\registercdkey\\sesskey\$K\cdkeyenc\`+gamespy.EncodePassword(key)+`\id\5\final\`))
		if m, err := p.MustNext(); err != nil || !strings.HasPrefix(m, `\error\`) {
			t.Errorf("after kill %d the CD key %s, which is already registered, is accepted with %q, %v", round, key, m, err)
		}
	}
	Must(t, p.MustLeave())
}

// Must fails the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// StormWriters returns one writer for each kind of acknowledged change.
func StormWriters() []StormWriter {
	return slices.Concat(stormOperators(), stormPlayers(), stormGames(), stormVisitors())
}

// newAccount makes an account as an operator does.
func (s *Storm) newAccount(ctx context.Context, name string) (storage.Profile, error) {
	return operator.CreateAccount.Call(ctx, s.Op, operator.NewAccount{
		Namespace: 1, Email: name + "@example.com", Nick: name, UniqueNick: name, Password: StormPassword,
	})
}

// stormAddress makes an address of the name of a change.
func stormAddress(name string) netip.Addr {
	var round, writer, n int
	_, _ = fmt.Sscanf(name, "r%dw%dn%d", &round, &writer, &n)
	return netip.AddrFrom4([4]byte{byte(20 + round%100), byte(writer), byte(n >> 8), byte(n)})
}
