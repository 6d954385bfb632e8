package gpcm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/nettest"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// TestLogHoldsNoSecrets has clients sign in, with and without success, talk and
// change their accounts, and searches the log.
func TestLogHoldsNoSecrets(t *testing.T) {
	log := new(nettest.Log)
	f := start(t, func(o *Options) {
		o.Log = zerolog.New(log).Level(zerolog.TraceLevel)
		o.Verdicts = verdicts.NewLog(o.Log, 0)
	})
	var secrets []string
	secret := func(s string) string { secrets = append(secrets, s); return s }
	encoded := func(password string) string { return secret(gamespy.EncodePassword(secret(password))) }

	p := f.connect()
	p.send(`\newuser\\email\%s\nick\Nicky\passwordenc\%s\namespaceid\1\uniquenick\%s\gamename\gmtest\id\1\final\`,
		secret("new@secret.example"), encoded("pass-one"), secret("NickyU"))
	p.want(`\nur\`)
	p.send(`\newuser\\email\new@secret.example\nick\Nicky\password\%s\id\1\final\`, secret("pass-two"))
	p.wantError(codeNewUserPassword)
	p.wantEnd()
	login := func(by, who, proof string, end string) *peer {
		t.Helper()
		p := f.connect()
		secret(p.challenge)
		p.send(`\login\\challenge\%s\%s\%s\response\%s\gamename\gmtest\namespaceid\1\sdkrevision\11\id\1\final\`,
			clientChallenge, by, who, secret(response(proof, who, clientChallenge, p.challenge)))
		p.want(end)
		return p
	}
	login("uniquenick", "NickyU", "wrong", `\error\\err\260\`).wantEnd()
	login("authtoken", secret("token-of-no-one"), "x", `\error\\err\266\`).wantEnd()
	login("lt", secret("ticket-of-no-one"), "x", `\error\\err\267\`).wantEnd()
	p = login("uniquenick", "NickyU", "pass-one", `\bdy\`)
	p.want(`\blk\`)
	answer := p.want(`\lc\2\`)
	p.key = secret(field(answer, "sesskey"))
	secret(field(answer, "lt"))
	secret(field(answer, "proof"))
	ann := f.signIn(f.register("Ann"), 11)
	for _, text := range []string{
		fmt.Sprintf(`\addbuddy\\sesskey\$K\newprofileid\%d\reason\%s`, ann.id, secret("please-take-me")),
		fmt.Sprintf(`\bm\1\sesskey\$K\t\%d\msg\%s`, ann.id, secret("how-are-you")),
		`\status\1\sesskey\$K\statstring\` + secret("gone-fishing") + `\locstring\` + secret("at-the-lake"),
		`\updatepro\\sesskey\$K\firstname\` + secret("Nicholas") + `\homepage\` + secret("http://nick.example"),
		`\updateui\\sesskey\$K\email\` + secret("other@secret.example") + `\passwordenc\` + encoded("pass-three"),
		`\registercdkey\\sesskey\$K\cdkeyenc\` + encoded("AAAA-BBBB-CCCC") + `\id\2`,
		`\` + secret("unknown-command") + `\\sesskey\$K\x\` + secret("unknown-text"),
	} {
		p.send("%s", text+gamespy.Final)
	}
	p.send(`\getprofile\\sesskey\1%s\profileid\1\id\5\final\`, p.key) // a wrong session key
	for m := p.recv(); !strings.HasPrefix(m, `\error\\err\3\`); m = p.recv() {
	}
	p.wantEnd()
	f.stop()

	for _, s := range secrets {
		if len(s) < 4 || strings.Contains(log.String(), s) {
			t.Errorf("the log has %q in it:\n%s", s, log)
		}
	}
	if !strings.Contains(log.String(), "signed in") || !strings.Contains(log.String(), "connection ended") {
		t.Errorf("the log says nothing of the sessions:\n%s", log)
	}
}
