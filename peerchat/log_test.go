package peerchat

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/verdicts"
)

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// TestLogHoldsNoSecrets has clients sign in, with and without success, talk and leave,
// and searches the log.
func TestLogHoldsNoSecrets(t *testing.T) {
	log := new(lockedBuffer)
	f := start(t, func(o *Options) {
		o.Log = zerolog.New(log).Level(zerolog.TraceLevel)
		o.Verdicts = verdicts.NewLog(o.Log, 0)
		o.History = 10
	})
	var secrets []string
	secret := func(s string) string { secrets = append(secrets, s); return s }
	ann := f.register("Ann", testNamespace)
	token := f.accounts.Grants.IssueToken(ann.ID, 0, false)

	c := f.connect()
	c.encrypt()
	c.ask("LOGIN 1 Ann "+secret(md5hex("wrong")), "LOGIN 1 * "+md5hex("wrong")+" :Ann@"+secret("ann@example.com"),
		"LOGINPREAUTH "+secret("token-of-another")+" "+secret("challenge-of-another"))
	c.send("LOGINPREAUTH "+secret(token.Value)+" "+secret(token.Challenge), userLine, "NICK *")
	c.want(":s 707 Ann 1 1")
	c.welcomed("Ann-gs")
	secret(md5hex(testPassword))
	other := f.logIn(ann) // displaces it
	c.wantEnd("Duplicate Login")
	other.ask("JOIN #"+secret("channel-name")+" "+secret("pass-word"), "PRIVMSG #channel-name :"+secret("said-in-a-room"),
		"PRIVMSG Ann-gs :"+secret("said-to-one"), "TOPIC #channel-name :"+secret("the-topic"), `SETKEY :\k\`+secret("key-value"),
		"UTM Ann-gs :"+secret("game-data"), "AWAY :"+secret("away-text"), secret("UNKNOWN-COMMAND")+" "+secret("with-text"),
		"PART #channel-name :"+secret("part-text"), "CDKEY "+secret("ABCD-EFGH"))
	other.send("QUIT :" + secret("quit-text"))
	other.wantEnd("quit-text")
	bad := f.connect()
	bad.send("CRYPT des 1 gmtest", "\xff"+secret("garbage-behind-crypt"))
	f.stop()
	if !strings.Contains(log.b.String(), "signed on") || !strings.Contains(log.b.String(), "connection ended") {
		t.Fatalf("the log has too little: %s", log.b.String())
	}
	for _, s := range secrets {
		if strings.Contains(log.b.String(), s) {
			t.Errorf("the log has %q:\n%s", s, log.b.String())
		}
	}
}
