package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
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

// fact is a statement that must hold after a crash, because a daemon has
// acknowledged it.
type fact struct {
	text string
	not  bool // it must not hold
}

// storm is a daemon that is about to be killed, as its writers see it.
type storm struct {
	at     map[string]netip.AddrPort
	op     operator.Operator
	acks   chan<- acked
	killed *atomic.Bool
}

// acked holds the facts that were acknowledged to a writer.
type acked struct {
	writer string
	facts  []fact
}

// stormWriter changes one kind of data. write makes one change, to an object of
// its own called name, and returns the facts that hold from then on.
type stormWriter struct {
	name  string
	write func(ctx context.Context, s *storm, name string) ([]fact, error)
}

// stormRounds is the number of kills. For a longer test: STORM_ROUNDS=200 go
// test -run Storm ./cmd/respawnd
func stormRounds(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("STORM_ROUNDS"))
	if err != nil {
		return 2
	}
	return n
}

// Every change that any service acknowledged survives a crash at any moment,
// and no password is on the disk.
func TestStormOfKillsLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, "storm.yaml", "net:\n  trusted: [127.0.0.0/8]\nadmin:\n  audit_entries: 1000000\n") // quotas are not the subject
	typed(t, testEnv(dir), stormPassword, "account", "create",                                               // profile 1, which others block
		"--email", "anchor@example.com", "--nick", "anchor", "--uniquenick", "anchor", "--password-stdin")
	rounds := stormRounds(t)
	truth := make(map[string]fact)
	counts := make(map[string]int)
	for round := range rounds {
		c := startChild(t, dir, "--config", file)
		checkTruth(t, c, dir, truth, round)
		c.storm(dir, round, counts, truth)
	}
	c := startChild(t, dir, "--config", file)
	checkTruth(t, c, dir, truth, rounds)
	c.kill()
	t.Logf("%d rounds, %d facts, acknowledged: %v", rounds, len(truth), counts)
	wantNoPassword(t, dir)
}

// storm runs all writers and kills the daemon at a random moment after each
// received an acknowledgement.
func (c *child) storm(dir string, round int, counts map[string]int, truth map[string]fact) {
	c.t.Helper()
	acks := make(chan acked)
	var killed atomic.Bool
	var writers sync.WaitGroup
	for i, w := range stormWriters() {
		s := &storm{at: c.address, op: c.client(dir), acks: acks, killed: &killed}
		writers.Go(func() { s.run(c.t, w, fmt.Sprintf("r%dw%dn", round, i)) })
	}
	go func() { writers.Wait(); close(acks) }()
	quiet := make(map[string]bool)
	for _, w := range stormWriters() {
		quiet[w.name] = true
	}
	left := rand.IntN(150)
	for a := range acks {
		counts[a.writer]++
		delete(quiet, a.writer)
		for _, f := range a.facts {
			truth[f.text] = f
		}
		if left--; left < 0 && len(quiet) == 0 && !killed.Swap(true) {
			_ = c.process.Kill() // others are under way
		}
	}
	if !killed.Load() {
		c.t.Errorf("storm %d ended by itself, without a word for %v:\n%s", round, quiet, c.log)
	}
	c.kill()
}

// run writes until the daemon is gone.
func (s *storm) run(t testing.TB, w stormWriter, prefix string) {
	for n := 0; ; n++ {
		facts, err := w.write(t.Context(), s, fmt.Sprint(prefix, n))
		if err != nil {
			if !s.killed.Load() {
				t.Errorf("%s: %v", w.name, err)
				s.acks <- acked{writer: w.name} // the others need not wait for this one
			}
			return
		}
		s.acks <- acked{w.name, facts}
	}
}

// checkTruth fails unless all acknowledged facts hold.
func checkTruth(t *testing.T, c *child, dir string, truth map[string]fact, round int) {
	t.Helper()
	have, noted := readTruth(t, c.client(dir))
	var keys []string
	for _, f := range truth {
		kind, rest, _ := strings.Cut(f.text, " ")
		switch kind {
		case "password":
			name, password, _ := strings.Cut(rest, " ")
			have[f.text] = takesPassword(t, c, name, password)
		case "cdkey":
			keys = append(keys, rest)
		default:
			continue
		}
	}
	checkKeys(t, c, keys, round)
	lost := 0
	for _, f := range truth {
		if kind, _, _ := strings.Cut(f.text, " "); kind == "cdkey" || have[f.text] != f.not {
			continue
		}
		if lost++; lost <= 20 {
			t.Errorf("after kill %d %q is %v, although the contrary was acknowledged", round, f.text, !f.not)
		}
	}
	// The audit log has an entry for every change, and no other entries.
	for text := range noted {
		if !have[text] {
			t.Errorf("after kill %d the audit log tells of %q, which is not so", round, text)
		}
	}
	for text := range have {
		if strings.HasPrefix(text, "ban ") && !noted[text] {
			t.Errorf("after kill %d the audit log knows nothing of %q", round, text)
		}
	}
}

// readTruth returns the facts, and the bans that should exist according to the
// audit log.
func readTruth(t *testing.T, op operator.Operator) (have, noted map[string]bool) {
	t.Helper()
	ctx := t.Context()
	have, noted = make(map[string]bool), make(map[string]bool)
	list, err := op.Bans(ctx)
	must(t, err)
	for _, b := range list {
		have["ban "+b.Prefix.String()] = true
	}
	all, err := op.Games(ctx)
	must(t, err)
	for _, g := range all {
		have["game "+g.Name] = true
	}
	rooms, err := op.Rooms(ctx, testGame)
	must(t, err)
	for _, r := range rooms {
		have["room "+r.Name] = true
	}
	kept, err := op.KeptServers(ctx)
	must(t, err)
	for _, a := range kept.Added {
		have["added "+a.Address] = true
	}
	for _, h := range kept.Hidden {
		have["hidden "+h.Address.String()] = true
	}
	for before := uint64(0); ; {
		page, err := op.AuditLog(ctx, operator.AuditQuery{Before: before, Limit: operator.MaxAuditPage})
		must(t, err)
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
	return have, noted
}

// readAccounts adds the facts about the accounts.
func readAccounts(t *testing.T, op operator.Operator, have map[string]bool) {
	t.Helper()
	var export bytes.Buffer
	leftOut, err := op.ExportAccounts(t.Context(), &export, false)
	must(t, err)
	if leftOut > 0 {
		t.Errorf("%d accounts cannot be read", leftOut)
	}
	lines := bufio.NewScanner(&export)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a accounts.Account
		must(t, json.Unmarshal(lines.Bytes(), &a))
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
	must(t, lines.Err())
}

// takesPassword reports whether an account of the storm opens with a password.
func takesPassword(t *testing.T, c *child, name, password string) bool {
	t.Helper()
	answer, err := askSearch(t.Context(), c.address["gpsp"], fmt.Sprintf(
		`\check\\nick\%s\email\%s@example.com\partnerid\0\passenc\%s\gamename\gmtest\final\`,
		name, name, gamespy.EncodePassword(password)))
	must(t, err)
	return strings.HasPrefix(answer, `\cur\0\pid\`)
}

// checkKeys fails if a new account can register one of the CD keys.
func checkKeys(t *testing.T, c *child, keys []string, round int) {
	t.Helper()
	if len(keys) == 0 {
		return
	}
	thief := fmt.Sprint("thief", round)
	if newUser(t.Context(), c.address["gpsp"], thief) == "" {
		t.Fatal("no account")
	}
	p, err := enter(t.Context(), c.address["gpcm"], thief)
	must(t, err)
	for _, key := range keys {
		must(t, p.send(`\registercdkey\\sesskey\$K\cdkeyenc\`+gamespy.EncodePassword(key)+`\id\5\final\`))
		if m, err := p.next(); err != nil || !strings.HasPrefix(m, `\error\`) {
			t.Errorf("after kill %d the CD key %s, which is already registered, is accepted with %q, %v", round, key, m, err)
		}
	}
	must(t, p.leave())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stormWriters returns one writer for each kind of acknowledged change, buddy
// requests and messages aside, which have a storm of their own.
func stormWriters() []stormWriter {
	return slices.Concat(stormOperators(), stormPlayers(), stormVisitors())
}

// newAccount makes an account as an operator does.
func (s *storm) newAccount(ctx context.Context, name string) (storage.Profile, error) {
	return s.op.CreateAccount(ctx, operator.NewAccount{
		Namespace: 1, Email: name + "@example.com", Nick: name, UniqueNick: name, Password: stormPassword,
	})
}

// stormAddress makes an address of the name of a change.
func stormAddress(name string) netip.Addr {
	var round, writer, n int
	_, _ = fmt.Sscanf(name, "r%dw%dn%d", &round, &writer, &n)
	return netip.AddrFrom4([4]byte{byte(20 + round%100), byte(writer), byte(n >> 8), byte(n)})
}
