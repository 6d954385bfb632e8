package peerchat

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/storage"
)

var update = flag.Bool("update", false, "write what the server answers to recorded sessions into testdata")

// differences are the lines of the recorded server that this one does not send, and
// why. The recorded server followed a script that took no notice of the client.
var differences = []struct {
	re  *regexp.Regexp
	why string
}{
	{regexp.MustCompile(`^:s 705 `), "challenges are random"},
	{regexp.MustCompile(`^:s 00[1-4] |^:s 37[256] `), "the welcome has another text"},
	{regexp.MustCompile(`^:(OtherGuy|LateGuy)!`), "other members of the script"},
	{regexp.MustCompile(`^:s 702 .* OtherGuy |^:s 352 \S+ \S+ XaaaaaaaaX`), "keys and address of another member of the script"},
	{regexp.MustCompile(`^:s 704 \S+ \S+ BCAST `), "a key of the script"},
	{regexp.MustCompile(`^PING :12345678$`), "asked after two minutes of silence only"},
	{regexp.MustCompile(`^:s 332 .*:Channel topic$`), "a new room has no topic"},
	{regexp.MustCompile(`^:s 353 .*OtherGuy \+VoicedGuy$`), "other members of the script"},
	{regexp.MustCompile(`^:s 324 .* \+tnpl 8$`), "modes of the script"},
	{regexp.MustCompile(`^:s 329 `), "clients ignore the time of creation"},
	{regexp.MustCompile(`^:s 47[145] `), "rooms of the script; here they are new"},
	{regexp.MustCompile(`^:s 70[0-4] .*\\(c?v|val)\d`), "values of the script"},
	{regexp.MustCompile(`^:s 704 .*:\\k1\\v1\\k2\\v2$`), "values of the script"},
	{regexp.MustCompile(`^:s 367 `), "a ban of the script"},
	{regexp.MustCompile(`^:s 31[19] `), "address and rooms of the script"},
	{regexp.MustCompile(`^:s 352 \S+ \S+ \S+ \S+ s SdkNick `), "the real name that the client gave"},
	{regexp.MustCompile(`^:s 322 `), "rooms of the script"},
	{regexp.MustCompile(`^:s 707 `), "with the unique nick in place of *"},
	{regexp.MustCompile(`^:s 708 `), "with the reason"},
	{regexp.MustCompile(`^:s 712 `), "there is no relay"},
	{regexp.MustCompile(`^:\S+ (MODE .* VoicedGuy|KICK .* VoicedGuy :bad)$`), "the script has a member that is not here"},
}

// differs returns why a recorded line is not expected, empty if it is.
func differs(line string) string {
	for _, d := range differences {
		if d.re.MatchString(line) {
			return d.why
		}
	}
	return ""
}

// TestRecorded replays the original client library. The server's answers are in
// testdata/*.golden; each line of the recorded server must be in it unless it is one of
// the differences.
func TestRecorded(t *testing.T) {
	for session, lines := range recordedSessions(t) {
		t.Run(session, func(t *testing.T) {
			r := newReplay(t, session)
			for len(lines) > 0 {
				sent := lines[0].Clear
				n := 1
				for n < len(lines) && lines[n].Dir == "S>C" {
					n++
				}
				r.play(sent, lines[1:n])
				lines = lines[n:]
			}
			r.compare()
		})
	}
}

// replay is a session that is played again.
type replay struct {
	t      *testing.T
	name   string
	client *client
	others []*client
	preauth
	got strings.Builder
}

// preauth is a token in place of the recorded one.
type preauth struct{ token accounts.Token }

func newReplay(t *testing.T, session string) *replay {
	f := start(t, func(o *Options) { o.Motd = []string{"Welcome to GameSpy"} })
	_, err := f.accounts.Transfer.Import(t.Context(), accounts.Account{
		ID: 5, Email: "me@example.com", MD5: "51149f6fea1a3179b364f1994e06e4d4",
		Profiles: []accounts.AccountProfile{{Profile: storage.Profile{
			ID: 100001, User: 5, Nick: "MyNick", UniqueNicks: []storage.UniqueNick{{Namespace: testNamespace, Nick: "uniqueguy", Key: "uniqueguy"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &replay{t: t, name: session, preauth: preauth{f.accounts.Grants.IssueToken(100001, 0, true)}}
	for _, nick := range []string{"taken", "OtherGuy", "Stranger"} {
		r.others = append(r.others, f.signOn(nick))
	}
	r.client = f.connect()
	return r
}

// play sends a client's lines in one write and reads the answer.
func (r *replay) play(sent string, recorded []recordedLine) {
	t, c := r.t, r.client
	for line := range strings.Lines(sent) {
		r.got.WriteString("C " + strings.TrimRight(line, "\r\n") + "\n")
	}
	sent = strings.NewReplacer("AUTHTOKEN", r.token.Value, "PARTNERCHAL", r.token.Challenge).Replace(sent)
	var answer []string
	switch {
	case strings.HasPrefix(sent, "CRYPT"):
		c.encrypt()
	case strings.HasPrefix(sent, "QUIT"):
		c.send(strings.TrimSuffix(sent, "\r\n"))
		answer = append(answer, c.line())
		c.wantClosed()
	default:
		answer = c.ask(strings.Split(strings.TrimSuffix(sent, "\r\n"), "\r\n")...)
	}
	for i, line := range answer {
		answer[i] = settle(line)
		r.got.WriteString("S " + answer[i] + "\n")
	}
	at := 0
	for _, l := range recorded {
		if differs(l.Clear) != "" {
			continue
		}
		i := slices.Index(answer[at:], l.Clear)
		if i < 0 {
			t.Errorf("after %q: %q is missing or out of order in\n\t%s", sent, l.Clear, strings.Join(answer, "\n\t"))
			continue
		}
		at += i + 1
	}
}

// settle replaces values that differ from run to run.
func settle(line string) string {
	line = regexp.MustCompile(`[0-9a-f]{12}\.masked`).ReplaceAllString(line, "{mask}.masked")
	line = regexp.MustCompile(`(:s 003 \S+ :This server was started ).*`).ReplaceAllString(line, "$1{time}")
	return regexp.MustCompile(`(:s 367 .*) \d+$`).ReplaceAllString(line, "$1 {time}")
}

// compare compares the whole session with testdata.
func (r *replay) compare() {
	file := filepath.Join("testdata", r.name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(r.got.String()), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	got := strings.Split(r.got.String(), "\n")
	for i, line := range strings.Split(string(want), "\n") {
		if i >= len(got) || got[i] != line {
			r.t.Fatalf("%s:%d: got %q, want %q", file, i+1, got[min(i, len(got)-1)], line)
		}
	}
}
