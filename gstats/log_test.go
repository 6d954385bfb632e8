package gstats

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// TestLogHoldsNoSecrets has a game and players prove who they are, with and without success, and
// searches the log.
func TestLogHoldsNoSecrets(t *testing.T) {
	log := new(nettest.Log)
	f := startPipe(t, func(o *Options) {
		o.Log = zerolog.New(log).Level(zerolog.TraceLevel)
		o.Verdicts = verdicts.NewLog(o.Log, 0)
	})
	c := f.player()
	secrets := []string{testPassword, c.Challenge, Proof(testPassword, c.Challenge), Proof("wrong-pass", c.Challenge), "d3b07384d113edec", "token-of-no-one", "HA6zkS", "private-data", "Nickname"}
	for _, body := range []string{
		`\authp\\pid\100001\resp\` + Proof("wrong-pass", c.Challenge) + `\lid\2`,
		`\authp\\nick\Nickname\keyhash\d3b07384d113edec49eaa6238ad5ff00\resp\` + Proof("x", c.Challenge) + `\lid\3`,
		`\authp\\authtoken\token-of-no-one\resp\` + Proof("x", c.Challenge) + `\lid\4`,
		`\getpid\\nick\Nickname\keyhash\d3b07384d113edec49eaa6238ad5ff00\lid\5`,
		`\setpd\\pid\100001\ptype\1\dindex\0\kv\0\lid\6\length\12\data\private-data`,
	} {
		c.send(body)
		secrets = append(secrets, fieldOf(c.next(), "sesskey"))
	}
	bad := f.connect()
	bad.send(`\auth\\gamename\gmtest\response\00000000000000000000000000000000\port\0\id\1`)
	bad.next()
	c.send(`\authp\\private-data\`, `\private-data\\private-data\x`)
	_ = c.Close()
	for _, s := range append(secrets, "0000000000000000") {
		if s != "" && strings.Contains(log.String(), s) {
			t.Errorf("the log has %q in it:\n%s", s, log)
		}
	}
	if log.String() == "" {
		t.Error("the log says nothing of the session")
	}
}
