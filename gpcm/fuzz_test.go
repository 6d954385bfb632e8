package gpcm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

// recordedCommands returns the clients' commands of the recordings after the login,
// with $K for the session key.
func recordedCommands(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/recorded/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			_, text, ok := strings.Cut(strings.TrimSpace(line), " > ")
			if ok {
				all = append(all, sentKey.ReplaceAllLiteralString(text, `\sesskey\$K`))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// faults fails a test when the service logs an error, such as a panic.
type faults struct{ seen atomic.Pointer[string] }

func (f *faults) Write(p []byte) (int, error) {
	line := string(p)
	f.seen.CompareAndSwap(nil, &line)
	return len(p), nil
}

// FuzzSession sends anything to the service, before or after the login, while a
// buddy looks on.
func FuzzSession(f *testing.F) {
	for _, c := range recordedCommands(f) {
		f.Add([]byte(c), true)
	}
	f.Add([]byte(`\login\\challenge\x\uniquenick\y\response\z\id\1\final\`), false)
	f.Add([]byte(`\bm\1\sesskey\$K\t\$B\msg\`+"\x00"+`\\\id\final\final\`), true)
	f.Add([]byte(`\addbuddy\\sesskey\$K\newprofileid\$B\reason\|signed||signed\final\`), true)
	f.Add([]byte(strings.Repeat(`\a`, 3000)), true)
	var bad faults
	shared := startPipe(f, func(o *Options) {
		o.Log = zerolog.New(&bad).Level(zerolog.ErrorLevel)
		o.Registrations = 0
	})
	shared.timeout = timeout // the clock is a real one here
	witness := shared.signIn(shared.register("Witness"), 63)
	n := 0
	f.Fuzz(func(t *testing.T, input []byte, signedIn bool) {
		n++
		fix := *shared
		fix.t = t
		who := fix.register(fmt.Sprintf("Fuzz%d", n))
		fix.befriend(who.ID, witness.id)
		p := fix.connect()
		if signedIn {
			p = fix.signIn(who, 63)
		}
		input = bytes.ReplaceAll(input, []byte("$K"), []byte(p.key))
		input = bytes.ReplaceAll(input, []byte("$B"), fmt.Append(nil, witness.id))
		got := make(chan int)
		go func() { got <- p.listenToEnd(t) }()
		_ = p.trySend(string(input) + gamespy.Final + `\logout\\sesskey\` + p.key + gamespy.Final)
		limit := 4096 + 2048*(bytes.Count(input, []byte(gamespy.Final))+2)
		if n := <-got; n > limit {
			t.Errorf("%d bytes of answers to %d bytes", n, len(input))
		}
		_ = fix.accounts.Users.Delete(t.Context(), who.User)
		witness.t = t
		witness.send(`\getprofile\\sesskey\$K\profileid\2147483647` + fenceID)
		for m := witness.recv(); !strings.HasSuffix(m, fenceID); m = witness.recv() {
			checkPush(t, m)
		}
		if line := bad.seen.Load(); line != nil {
			t.Errorf("the service logged %s", *line)
		}
	})
}

// listenToEnd reads until the service closes the connection, or says that it
// will, and returns how much there was.
func (p *peer) listenToEnd(t *testing.T) (n int) {
	defer func() { _ = p.conn.Close() }()
	for {
		m, err := p.tryRecv(p.timeout)
		if err != nil {
			return n
		}
		n += len(m)
		if strings.Contains(m, `\fatal\`) {
			return n
		}
		if !strings.Contains(m, `\id\`) {
			checkPush(t, m)
		}
	}
}

// checkPush fails if a message could harm a client.
func checkPush(t *testing.T, m string) {
	t.Helper()
	body, _ := strings.CutSuffix(m, gamespy.Final)
	if strings.IndexByte(m, 0) >= 0 || strings.Contains(m, `\id\`) || strings.Contains(body, gamespy.Final) {
		t.Errorf("push %q", m)
	}
	if strings.Count(body, `\`)%2 != 0 { // keys and values in turn
		t.Errorf("push %q has a backslash too many", m)
	}
	switch {
	case strings.HasPrefix(m, `\bm\2\`):
		_, signature, _ := strings.Cut(body, signedMark+"|")
		if len(signature) != storage.SignatureLen {
			t.Errorf("request %q", m)
		}
	case strings.HasPrefix(m, `\bm\100\`):
		for _, name := range []string{"|s|", "|ss|", "|ls|", "|ip|0", "|p|0", "|qm|"} {
			if strings.Count(body, name) != 1 {
				t.Errorf("status %q has %s %d times", m, name, strings.Count(body, name))
			}
		}
	case strings.HasPrefix(m, `\bsi\`):
		for _, key := range []string{
			"state", "profile", "bip", "bport", "hostip", "hprivip", "qport", "hport", "sessflags",
			"rstatus", "gameType", "gameVnt", "gameMn", "product", "qmodeflags",
		} {
			if strings.Count(body, `\`+key+`\`) != 1 {
				t.Errorf("status %q has not %s once", m, key)
			}
		}
	}
}

// FuzzRequest parses anything.
func FuzzRequest(f *testing.F) {
	for _, c := range recordedCommands(f) {
		f.Add([]byte(strings.TrimSuffix(c, gamespy.Final)))
	}
	f.Add([]byte(`\bm\1\MSG\\msg\`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, tail := range []string{"", "msg", "location"} {
			r, err := parseRequest(body, tail)
			if err != nil {
				continue
			}
			if len(r.tail) > len(body) || tail == "" && r.tail != "" {
				t.Errorf("tail %q of %q", r.tail, body)
			}
			if tail != "" && len(r.tail) > 0 && !bytes.HasSuffix(body, []byte(`\`+r.tail)) {
				t.Errorf("tail %q is not the end of %q", r.tail, body)
			}
			if id := r.profile("t"); id > storage.MaxAccountID {
				t.Errorf("profile %d", id)
			}
		}
		var name [16]byte
		if got := commandName(name[:0], body); len(got) > len(name) || bytes.IndexByte(got, '\\') >= 0 {
			t.Errorf("name %q of %q", got, body)
		}
	})
}

// FuzzEvent writes anything as a push and looks whether a client could read it.
func FuzzEvent(f *testing.F) {
	f.Add("text", "place", 63)
	f.Add("id", "ls", 11)
	f.Add("|signed", "final", 0)
	f.Add("a\x00\\b|ls|", "|p|", 15)
	f.Fuzz(func(t *testing.T, text, place string, revision int) {
		for _, e := range fuzzEvents(text, place) {
			m := string(appendEvent(nil, e, revision))
			if m == "" {
				continue
			}
			if !strings.HasSuffix(m, gamespy.Final) {
				t.Fatalf("event %+v: %q", e, m)
			}
			checkPush(t, m)
		}
	})
}

func fuzzEvents(text, place string) []presence.Event {
	return []presence.Event{
		presence.Message{From: 1, Kind: presence.Text, Text: text},
		presence.BuddyRequest{From: 1, Reason: text, Signature: noSignature},
		presence.BuddyAuthorized{From: 1},
		presence.BuddyRevoked{From: 1},
		presence.Invite{From: 1, Product: 1, Location: place},
		presence.StatusChanged{From: 1},
		presence.StatusChanged{From: 1, Status: presence.Status{State: 1, Text: text, Location: place}},
		presence.StatusChanged{From: 1, Status: presence.Status{State: 1, Rich: &presence.Rich{
			Text: text, GameType: place, GameVariant: text, GameMap: place,
		}}},
	}
}
