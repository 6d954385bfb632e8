package gpcm

import (
	"flag"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/storage"
)

var update = flag.Bool("update", false, "write the messages of the service into testdata")

// TestRecordedSessions replays whole sessions of four builds of the original client.
// The client's messages ("CM1 > ...") are as recorded, but for the session key, the
// response and the signature of a request, which depend on the server's messages. Those
// that the service has to send ("CM1 < ...") were accepted by that client; values that
// differ from run to run are in braces.
func TestRecordedSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/recorded/*.txt")
	if err != nil || len(files) != 4 {
		t.Fatalf("recorded sessions: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.TrimSuffix(string(b), "\n")
			got := replay(t, strings.Split(want, "\n"))
			if *update {
				if err := os.WriteFile(file, []byte(got+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("session (-recorded +now):\n%s", diff)
			}
		})
	}
}

// replay returns the script with the messages of the service as they are.
func replay(t *testing.T, script []string) string {
	f := start(t, nil)
	// The ids of the recording continue from these.
	_, _, err := f.store.CreateUser(t.Context(), storage.User{ID: 100, Email: "first@example.com"},
		storage.Profile{ID: 1000, Nick: "First"})
	if err != nil {
		t.Fatal(err)
	}
	peers := make(map[string]*peer)
	var out []string
	for i, line := range script {
		name, rest, _ := strings.Cut(line, " ")
		verb, text, _ := strings.Cut(rest, " ")
		p := peers[name]
		switch verb {
		case "bob": // through another service
			if _, err := f.accounts.Users.Register(t.Context(), accounts.Registration{
				Namespace: 1, Email: "bob@example.com", Nick: "Bob", UniqueNick: "BobU", Password: "hunter2",
				From: netip.MustParseAddr("127.0.0.1"),
			}); err != nil {
				t.Fatal(err)
			}
		case "open":
			c, err := f.dial()
			if err != nil {
				t.Fatal(err)
			}
			peers[name] = f.peer(c)
		case ">":
			if err := p.trySend(p.now(text)); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			p.fence(text)
		case "<":
			m, err := p.tryRecv(p.timeout)
			if err != nil {
				t.Fatalf("line %d: want %q, received nothing: %v", i+1, text, err)
			}
			p.remember(m)
			line = name + " < " + settle(m)
		case "close":
			out = append(out, p.rest(name)...)
			p.leave()
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// leave closes the client's side and waits until the service has noticed.
func (p *peer) leave() {
	if c, ok := p.conn.(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
	for {
		if _, err := p.tryRecv(p.timeout); err != nil {
			_ = p.conn.Close()
			return
		}
	}
}

const fenceID = `\id\999\final\`

// fence waits until the service has carried out the client's messages, if the client is
// signed in and continues.
func (p *peer) fence(sent string) {
	if p.key == "" || strings.HasPrefix(sent, `\logout`) || strings.HasPrefix(sent, `\delprofile`) {
		return
	}
	p.send(`\getprofile\\sesskey\$K\profileid\2147483647` + fenceID)
	var before []byte
	for {
		m := p.recv()
		if strings.HasSuffix(m, fenceID) {
			p.buf = append(before, p.buf...)
			return
		}
		before = append(before, m...)
	}
}

// rest returns the messages of the service that are not in the recording.
func (p *peer) rest(name string) []string {
	p.fenceOrEnd()
	var out []string
	for len(p.buf) > 0 {
		out = append(out, name+" < "+settle(p.recv()))
	}
	return out
}

// fenceOrEnd reads everything that the service has for the client.
func (p *peer) fenceOrEnd() {
	if p.trySend(`\getprofile\\sesskey\`+p.key+`\profileid\2147483647`+fenceID) != nil {
		return
	}
	var all []byte
	for {
		m, err := p.tryRecv(p.timeout)
		if err != nil || strings.HasSuffix(m, fenceID) {
			p.buf = all
			return
		}
		all = append(all, m...)
	}
}

// remember keeps values that the client has to send back.
func (p *peer) remember(m string) {
	switch {
	case strings.HasPrefix(m, `\lc\1`):
		p.challenge = field(m, "challenge")
	case strings.HasPrefix(m, `\lc\2`):
		p.key = field(m, "sesskey")
		if got := field(m, "proof"); got != p.proof {
			p.t.Errorf("proof %s, want %s", got, p.proof)
		}
	case strings.HasPrefix(m, `\bm\2`):
		_, p.sig, _ = strings.Cut(strings.TrimSuffix(m, `\final\`), "|signed|")
	}
}

var (
	sentKey      = regexp.MustCompile(`\\sesskey\\\d+`)
	sentSig      = regexp.MustCompile(`\\sig\\[0-9a-f]{32}`)
	sentResponse = regexp.MustCompile(`\\response\\[0-9a-f]{32}`)
)

// now returns a recorded message with the values of this run.
func (p *peer) now(text string) string {
	text = sentKey.ReplaceAllLiteralString(text, `\sesskey\`+p.key)
	text = sentSig.ReplaceAllLiteralString(text, `\sig\`+p.sig)
	if !strings.HasPrefix(text, `\login\`) {
		return text
	}
	user := field(text, "uniquenick") + field(text, "user")
	password := "secret"
	if strings.HasPrefix(user, "Bob") {
		password = "hunter2"
	}
	client := field(text, "challenge")
	p.proof = response(password, user, p.challenge, client)
	return sentResponse.ReplaceAllLiteralString(text, `\response\`+response(password, user, client, p.challenge))
}
