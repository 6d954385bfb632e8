package gpcm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/accounts"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/internal/presence"
	"github.com/respawnd/respawnd/storage"
)

const clientChallenge = "abcdefghijklmnopqrstuvwxyz012345"

// TestRecordedLogins sends logins that the original client made, each to a
// server with the challenge of that time, and expects the proof that the client
// accepted.
func TestRecordedLogins(t *testing.T) {
	b, err := os.ReadFile("testdata/logins.json")
	if err != nil {
		t.Fatal(err)
	}
	var logins []struct {
		Request, Password, Proof string
		ServerChallenge          string `json:"server_challenge"`
	}
	if err := json.Unmarshal(b, &logins); err != nil || len(logins) != 18 {
		t.Fatalf("%d logins, %v", len(logins), err)
	}
	for _, l := range logins {
		for _, s := range []*string{&l.Request, &l.Password} {
			*s = latin1(*s)
		}
		t.Run(field(l.Request, "uniquenick")+field(l.Request, "user"), func(t *testing.T) {
			f := build(t, nil)
			f.server.newChallenge = func() string { return l.ServerChallenge }
			f.listen()
			r := accounts.Registration{
				Email: "a@example.com", Nick: "Any", UniqueNick: field(l.Request, "uniquenick"), Password: l.Password,
				From: netip.MustParseAddr("127.0.0.1"),
			}
			_, _ = fmt.Sscan(field(l.Request, "partnerid"), &r.Partner)
			_, _ = fmt.Sscan(field(l.Request, "namespaceid"), &r.Namespace)
			nick := r.Nick
			if user := field(l.Request, "user"); user != "" {
				nick, r.Email, _ = accounts.SplitUser(user)
			}
			who, err := f.accounts.Users.Register(t.Context(), r)
			p := f.connect()
			if strings.Contains(r.UniqueNick, "UTF") { // bytes that no unique nick may have
				if err == nil {
					t.Errorf("Register(%q) accepted it", r.UniqueNick)
				}
				p.send("%s", l.Request)
				p.wantError(codeLoginUniqueNick)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			who.Nick = nick // also where it could not be chosen today
			if _, err := f.store.UpdateProfile(t.Context(), who); err != nil {
				t.Fatal(err)
			}
			p.send("%s", l.Request)
			p.want(`\bdy\0\list\\final\`)
			p.want(`\blk\0\list\\final\`)
			if lc := p.want(`\lc\2\`); field(lc, "proof") != l.Proof || field(lc, "id") != "1" {
				t.Errorf("answer %q, want proof %s and id 1", lc, l.Proof)
			}
		})
	}
}

// latin1 returns a text whose characters stand for bytes.
func latin1(s string) string {
	b := make([]byte, 0, len(s))
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

func TestLoginForms(t *testing.T) {
	type form struct {
		who      string // of the request
		partner  int
		secret   string
		user     string // of the response
		answer   string // user of the proof; "": the same
		response func(string) string
	}
	f := start(t, nil)
	register := func(partner int, email, nick, unique string) storage.Profile {
		p, err := f.accounts.Users.Register(t.Context(), accounts.Registration{
			Partner: partner, Namespace: 1, Email: email, Nick: nick, UniqueNick: unique, Password: testPassword,
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ann := register(0, "ann@example.com", "A@n", "AnnU")
	register(10, "ben@example.com", "Ben", "BenU")
	token := f.accounts.Grants.IssueToken(ann.ID, 0, false)
	ticket, other, ours := f.accounts.Grants.IssueTicket(ann.ID), f.accounts.Grants.IssueTicket(ann.ID), f.accounts.Grants.IssueTicket(ann.ID)
	tests := map[string]form{
		"unique nick":                {who: `\uniquenick\AnnU`, secret: testPassword, user: "AnnU"},
		"unique nick in other case":  {who: `\uniquenick\ANNu`, secret: testPassword, user: "ANNu"},
		"unique nick, partner":       {who: `\uniquenick\BenU`, partner: 10, secret: testPassword, user: "10@BenU"},
		"nick with @ and e-mail":     {who: `\user\A@n@ann@example.com`, secret: testPassword, user: "A@n@ann@example.com"},
		"nick and e-mail, partner":   {who: `\user\ben@ben@example.com`, partner: 10, secret: testPassword, user: "10@ben@ben@example.com"},
		"token":                      {who: `\authtoken\` + token.Value, secret: token.Challenge, user: token.Value},
		"token, partner not in hash": {who: `\authtoken\` + token.Value, partner: 11, secret: token.Challenge, user: token.Value},
		"ticket":                     {who: `\lt\` + ticket, user: ticket, answer: "@"},
		"ticket, partner":            {who: `\lt\` + other, partner: 10, user: other, answer: "10@@"},
		"ticket as password":         {who: `\lt\` + ours, secret: ours, user: ours},
		"response in capitals":       {who: `\uniquenick\AnnU`, secret: testPassword, user: "AnnU", response: strings.ToUpper},
		"response with a tail": {
			who: `\uniquenick\AnnU`, secret: testPassword, user: "AnnU",
			response: func(s string) string { return s + "xxgarbage" },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := f.connect()
			answer := response(test.secret, test.user, clientChallenge, p.challenge)
			if test.response != nil {
				answer = test.response(answer)
			}
			p.send(`\login\\challenge\%s%s\partnerid\%d\response\%s\id\1\final\`, clientChallenge, test.who, test.partner, answer)
			if test.answer == "" {
				test.answer = test.user
			}
			want := response(test.secret, test.answer, p.challenge, clientChallenge)
			if lc := p.want(`\lc\2\`); field(lc, "proof") != want {
				t.Errorf("proof %q, want %q", field(lc, "proof"), want)
			}
		})
	}
}

func TestLoginErrors(t *testing.T) {
	f := start(t, nil)
	f.register("Ann")
	gone := f.register("Gone")
	extra, err := f.accounts.Profiles.New(t.Context(), gone.User, "Extra")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.accounts.Profiles.Delete(t.Context(), extra.ID); err != nil {
		t.Fatal(err)
	}
	banned := f.register("Banned")
	if err := f.accounts.Users.Ban(t.Context(), banned.User, time.Time{}, "", ""); err != nil {
		t.Fatal(err)
	}
	right := func(user string) func(*peer) string {
		return func(p *peer) string { return response(testPassword, user, clientChallenge, p.challenge) }
	}
	wrong := func(*peer) string { return strings.Repeat("0", 32) }
	tests := map[string]struct {
		who      string
		response func(*peer) string
		code     code
	}{
		"unknown":               {``, wrong, codeParse},
		"user without e-mail":   {`\user\Ann`, wrong, codeParse},
		"user with one @":       {`\user\Ann@example.com`, wrong, codeParse},
		"wrong password":        {`\uniquenick\Ann`, wrong, codeLoginPassword},
		"short response":        {`\uniquenick\Ann`, func(*peer) string { return "0" }, codeLoginPassword},
		"unknown unique nick":   {`\uniquenick\Unknown`, wrong, codeLoginUniqueNick},
		"unknown e-mail":        {`\user\Ann@x@y.z`, wrong, codeLoginEmail},
		"unknown nick":          {`\user\Zed@ann@example.com`, wrong, codeLoginProfile},
		"deleted profile":       {fmt.Sprintf(`\user\Extra@gone@example.com\profileid\%d`, extra.ID), wrong, codeLoginDeleted},
		"other namespace":       {`\uniquenick\Ann\namespaceid\2`, right("Ann"), codeLoginUniqueNick},
		"other partner":         {`\uniquenick\Ann\partnerid\5`, right("5@Ann"), codeLoginUniqueNick},
		"unknown token":         {`\authtoken\abc`, wrong, codeLoginToken},
		"unknown ticket":        {`\lt\abc`, wrong, codeLoginTicket},
		"banned":                {`\uniquenick\Banned`, right("Banned"), codeLogin},
		"negative namespace":    {`\uniquenick\Ann\namespaceid\-1`, right("Ann"), codeParse},
		"huge namespace":        {`\uniquenick\Ann\namespaceid\4294967297`, right("Ann"), codeParse},
		"partner is a word":     {`\uniquenick\Ann\partnerid\x`, right("Ann"), codeParse},
		"huge product":          {`\uniquenick\Ann\productid\99999999999999999999`, right("Ann"), codeParse},
		"challenges swapped":    {`\uniquenick\Ann`, func(p *peer) string { return response(testPassword, "Ann", p.challenge, clientChallenge) }, codeLoginPassword},
		"bytes of a code page":  {"\\uniquenick\\Fran\xe7ois", wrong, codeLoginUniqueNick},
		"very long unique nick": {`\uniquenick\` + strings.Repeat("a", 5000), wrong, codeLoginUniqueNick},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := f.connect()
			p.send(`\login\\challenge\%s%s\response\%s\id\1\final\`, clientChallenge, test.who, test.response(p))
			m := p.wantError(test.code)
			if !strings.Contains(m, `\fatal\\`) || field(m, "id") != "1" {
				t.Errorf("error %q is not fatal or has not id 1", m)
			}
			p.wantEnd()
		})
	}
	t.Run("key missing", func(t *testing.T) {
		p := f.connect()
		p.send(`\login\\uniquenick\Ann\response\0\id\1\final\`)
		p.wantError(codeParse)
		p.wantEnd()
	})
}

func TestProofOfAnotherConnectionIsRefused(t *testing.T) {
	f := start(t, nil)
	f.register("Ann")
	first, second := f.connect(), f.connect()
	if first.challenge == second.challenge {
		t.Fatalf("two connections have the challenge %q", first.challenge)
	}
	login := fmt.Sprintf(`\login\\challenge\%s\uniquenick\Ann\response\%s\id\1\final\`,
		clientChallenge, response(testPassword, "Ann", clientChallenge, first.challenge))
	first.send("%s", login)
	first.want(`\lc\2\`)
	second.send("%s", login)
	second.wantError(codeLoginPassword)
	second.wantEnd()
}

func TestBeforeLogin(t *testing.T) {
	f := start(t, nil)
	ann := f.register("Ann")
	t.Run("keepalive is welcome", func(t *testing.T) {
		p := f.connect()
		p.send(`\ka\\final\\ka\\final\`)
		p.login("Ann", testPassword, "")
		p.want(`\lc\2\`)
	})
	t.Run("logout ends it", func(t *testing.T) {
		p := f.connect()
		p.send(`\logout\\sesskey\0\final\`)
		p.wantEnd()
	})
	for _, command := range []string{
		`\status\1\sesskey\1\statstring\x\locstring\`, `\getprofile\\sesskey\1\profileid\1\id\7`, `\bm\1\sesskey\1\t\1\msg\x`,
		`\addbuddy\\sesskey\1\newprofileid\1\reason\`, `\nonsense\1`,
	} {
		t.Run(strings.Trim(command, `\`), func(t *testing.T) {
			p := f.connect()
			p.send("%s", command+`\final\`)
			m := p.wantError(codeNotLoggedIn)
			if !strings.Contains(m, `\fatal\\`) || field(m, "id") != field(command, "id") {
				t.Errorf("error %q for %q", m, command)
			}
			p.wantEnd()
		})
	}
	t.Run("too many messages", func(t *testing.T) {
		p := f.connect()
		p.send("%s", strings.Repeat(`\ka\\final\`, maxBeforeLogin+1))
		p.wantError(codeParse)
		p.wantEnd()
		if n := f.dropped.count(t, endedFlood); n != 1 {
			t.Errorf("%d floods counted, want 1", n)
		}
	})
	t.Run("as many messages as there may be", func(t *testing.T) {
		p := f.connect()
		p.send("%s", strings.Repeat(`\ka\\final\`, maxBeforeLogin-1))
		p.login("Ann", testPassword, "")
		p.want(`\lc\2\`)
	})
	t.Run("second login", func(t *testing.T) {
		p := f.signIn(ann, 0)
		p.login("Ann", testPassword, "")
		p.wantError(codeLogin)
		p.wantEnd()
	})
	t.Run("newuser after login", func(t *testing.T) {
		p := f.signIn(ann, 0)
		p.send(`\newuser\\email\x@y.z\nick\X\passwordenc\ZZeXgE6v\id\1\final\`)
		p.wantError(codeNewUser)
		p.wantEnd()
	})
}

func TestLoginTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, nil)
		p := f.connect()
		began := time.Now()
		time.Sleep(defaults().LoginTime - time.Second)
		p.send(`\ka\\final\`)
		m := p.wantError(codeLoginTimeout)
		if took := time.Since(began); took != defaults().LoginTime || field(m, "id") != "1" {
			t.Errorf("after %v: %q, want it after %v with id 1", took, m, defaults().LoginTime)
		}
		p.wantEnd()
	})
}

func TestNewUser(t *testing.T) {
	f := start(t, func(o *Options) { o.Registrations = 30 })
	ann := f.register("Ann")
	const encoded = "ZZeXgE6v" // testPassword
	tests := map[string]struct {
		fields string
		code   code // 0: no error
	}{
		"new account":             {`\email\new@example.com\nick\New\passwordenc\` + encoded + `\namespaceid\1\uniquenick\NewU`, 0},
		"password in the clear":   {`\email\old@example.com\nick\Old\password\secret\namespaceid\1\uniquenick\`, 0},
		"further profile":         {`\email\ann@example.com\nick\Ann2\passwordenc\` + encoded + `\namespaceid\1\uniquenick\Ann2`, 0},
		"no namespace, no unique": {`\email\n0@example.com\nick\N0\passenc\` + encoded + `\namespaceid\0\uniquenick\Ann`, 0},
		"nick taken":              {`\email\ann@example.com\nick\ann\passwordenc\` + encoded + `\namespaceid\1\uniquenick\`, codeNewUserNick},
		"key word as nick":        {`\email\a1@example.com\nick\id\passwordenc\` + encoded, codeNewUserNick},
		"wrong password":          {`\email\ann@example.com\nick\Ann3\passwordenc\dw__`, codeNewUserPassword},
		"illegal unique nick":     {`\email\a2@example.com\nick\A2\passwordenc\` + encoded + `\namespaceid\1\uniquenick\4you`, codeNewUserIllegal},
		"reserved unique nick":    {`\email\a3@example.com\nick\A3\passwordenc\` + encoded + `\namespaceid\1\uniquenick\e-mail`, codeNewUserIllegal},
		"unique nick of bytes":    {"\\email\\a4@example.com\\nick\\A4\\passwordenc\\" + encoded + "\\namespaceid\\1\\uniquenick\\\xe9\xe9\xe9", codeNewUserIllegal},
		"unique nick taken":       {`\email\a5@example.com\nick\A5\passwordenc\` + encoded + `\namespaceid\1\uniquenick\%ANN%`, codeNewUserTaken},
		"no e-mail":               {`\email\nowhere\nick\A6\passwordenc\` + encoded, codeNewUser},
		"no password":             {`\email\a7@example.com\nick\A7`, codeParse},
		"password not readable":   {`\email\a8@example.com\nick\A8\passwordenc\!!!!`, codeParse},
		"nick missing":            {`\email\a9@example.com\passwordenc\` + encoded, codeParse},
		"negative namespace":      {`\email\b1@example.com\nick\B1\passwordenc\` + encoded + `\namespaceid\-7`, codeParse},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := f.connect()
			p.send("%s", `\newuser\`+test.fields+`\id\1\final\`)
			if test.code == 0 {
				m := p.want(`\nur\\userid\`)
				if field(m, "id") != "1" || field(m, "profileid") == "" {
					t.Errorf("answer %q", m)
				}
				return
			}
			m := p.wantError(test.code)
			if !strings.Contains(m, `\fatal\\`) || field(m, "id") != "1" {
				t.Errorf("error %q is not fatal or has not id 1", m)
			}
			if test.code == codeNewUserNick && name == "nick taken" && field(m, "pid") != fmt.Sprint(ann.ID) {
				t.Errorf("error %q, want pid %d", m, ann.ID)
			}
			p.wantEnd()
		})
	}
	t.Run("login with the name of bytes", func(t *testing.T) {
		p := f.connect()
		p.send("%s", "\\newuser\\\\email\\c@example.com\\nick\\Fran\xe7ois\\passwordenc\\"+encoded+"\\namespaceid\\0\\id\\1\\final\\")
		p.want(`\nur\`)
		user := "Fran\xe7ois@c@example.com"
		p.send("%s", fmt.Sprintf("\\login\\\\challenge\\%s\\user\\%s\\response\\%s\\namespaceid\\0\\id\\1\\final\\",
			clientChallenge, user, response(testPassword, user, clientChallenge, p.challenge)))
		if m := p.want(`\lc\2\`); strings.Contains(m, `\uniquenick\`) {
			t.Errorf("answer %q has a unique nick in namespace 0", m)
		}
	})
}

func TestRegistrationQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startPipe(t, func(o *Options) { o.Registrations = 2 })
		try := func(n int) string {
			p := f.connect()
			defer func() { _ = p.conn.Close() }()
			p.send(`\newuser\\email\q%d@example.com\nick\Q\password\secret\id\1\final\`, n)
			return p.recv()
		}
		for n := range 2 {
			if m := try(n); !strings.HasPrefix(m, `\nur\`) {
				t.Errorf("registration %d: %q", n, m)
			}
		}
		if m := try(2); !strings.HasPrefix(m, `\error\\err\512\`) {
			t.Errorf("registration over the quota: %q", m)
		}
		time.Sleep(30 * time.Second)
		if m := try(3); !strings.HasPrefix(m, `\nur\`) {
			t.Errorf("registration half a minute later: %q", m)
		}
		f.reload(func(c *Config) { c.Registrations = 0 })
		for n := range 10 {
			if m := try(10 + n); !strings.HasPrefix(m, `\nur\`) {
				t.Errorf("registration without a quota: %q", m)
			}
		}
	})
}

func TestSecondLogin(t *testing.T) {
	tests := map[string]struct {
		policy              games.SecondLogin
		sameGoes, otherGoes bool
	}{
		"by profile": {games.KickProfile, true, false},
		"by user":    {games.KickUser, true, true},
		"allowed":    {games.AllowSecond, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t, func(o *Options) {
				o.Games = catalog(t, games.Game{Name: "gmtest", Policy: games.Policy{SecondLogin: test.policy}})
			})
			ann := f.register("Ann")
			other, err := f.accounts.Users.Register(t.Context(), accounts.Registration{
				Namespace: 1, Email: "ann@example.com", Nick: "Other", UniqueNick: "Other", Password: testPassword,
			})
			if err != nil {
				t.Fatal(err)
			}
			first, sibling := f.signIn(ann, 0), f.signIn(other, 0)
			if test.otherGoes { // the sibling took over already
				first.want(`\error\\err\6\fatal\\errmsg\This profile has been disconnected by another login.\final\`)
				first.wantEnd()
			} else {
				first.wantNothing()
			}
			second := f.signIn(ann, 0)
			for p, goes := range map[*peer]bool{first: test.sameGoes && !test.otherGoes, sibling: test.otherGoes} {
				if goes {
					p.want(`\error\\err\6\fatal\\errmsg\This profile has been disconnected by another login.\final\`)
					p.wantEnd()
				}
			}
			second.wantNothing()
			if !test.otherGoes {
				sibling.wantNothing()
			}
		})
	}
}

func TestTakeOverIsNotSeen(t *testing.T) {
	f := start(t, nil)
	ann, ben := f.register("Ann"), f.register("Ben")
	f.befriend(ann.ID, ben.ID)
	watcher := f.signIn(ben, 11)
	first := f.signIn(ann, 11)
	first.want(`\bm\100\`)
	watcher.want(fmt.Sprintf(`\bm\100\f\%d\msg\|s|1|`, ann.ID))
	second := f.signIn(ann, 11)
	first.wantError(codeForced)
	first.wantEnd()
	watcher.wantNothing()
	second.want(`\bm\100\`)
	second.send(`\logout\\sesskey\$K\final\`)
	second.wantEnd()
	watcher.want(fmt.Sprintf(`\bm\100\f\%d\msg\|s|0|ss|Offline|ls||ip|0|p|0|qm|0\final\`, ann.ID))
}

func TestOrderAfterLogin(t *testing.T) {
	for _, revision := range []int{0, 11, 15} {
		t.Run(fmt.Sprint(revision), func(t *testing.T) {
			f := start(t, nil)
			ann, ben, cid, dan := f.register("Ann"), f.register("Ben"), f.register("Cid"), f.register("Dan")
			f.befriend(ann.ID, ben.ID) // online
			f.befriend(ann.ID, cid.ID) // offline
			f.befriend(ann.ID, dan.ID) // blocked by ann
			if err := f.store.AddBlock(t.Context(), ann.ID, dan.ID); err != nil {
				t.Fatal(err)
			}
			f.signIn(ben, 11)
			f.signIn(dan, 11)
			eve := f.signIn(f.register("Eve"), 11)
			eve.send(`\addbuddy\\sesskey\$K\newprofileid\%d\reason\hi\final\`, ann.ID)
			eve.wantNothing()
			sent := time.Now().Add(-time.Hour)
			if err := f.store.Leave(t.Context(), ann.ID, storage.Message{
				From: ben.ID, Kind: storage.MessageText, Text: "while you were out", Sent: sent,
			}); err != nil {
				t.Fatal(err)
			}
			p := f.connect()
			p.login("Ann", testPassword, fmt.Sprintf(`\namespaceid\1\sdkrevision\%d`, revision))
			if revision&knowsLists != 0 {
				p.want(fmt.Sprintf(`\bdy\3\list\%d,%d,%d\final\`, ben.ID, cid.ID, dan.ID))
				p.want(fmt.Sprintf(`\blk\1\list\%d\final\`, dan.ID))
			}
			p.key = field(p.want(`\lc\2\`), "sesskey")
			p.want(fmt.Sprintf(`\bm\2\f\%d\date\`, eve.id))
			p.want(fmt.Sprintf(`\bm\1\f\%d\date\%d\msg\while you were out\final\`, ben.ID, sent.Unix()))
			p.want(fmt.Sprintf(`\bm\100\f\%d\msg\|s|1|ss|Online|`, ben.ID))
			if revision&knowsLists == 0 {
				p.want(fmt.Sprintf(`\bm\100\f\%d\msg\|s|0|ss|Offline|`, cid.ID))
				p.want(fmt.Sprintf(`\bm\100\f\%d\msg\|s|0|ss|Offline|`, dan.ID))
			}
			p.wantNothing()
			p.send(`\logout\\sesskey\$K\final\`)
			p.wantEnd()
			// The message was delivered once, the request stays.
			again := f.signIn(ann, revision)
			again.want(`\bm\2\`)
			again.want(`\bm\100\`)
		})
	}
}

func TestLoginAnswer(t *testing.T) {
	f := start(t, func(o *Options) {
		o.Games = catalog(t, games.Game{Name: "handheld", Policy: games.Policy{NoUserID: games.On}})
	})
	ann := f.register("Ann")
	t.Run("no unique nick in the namespace", func(t *testing.T) {
		p := f.connect()
		user := "Ann@ann@example.com"
		p.send(`\login\\challenge\%s\user\%s\response\%s\namespaceid\7\id\1\final\`, clientChallenge, user,
			response(testPassword, user, clientChallenge, p.challenge))
		if m := p.want(`\lc\2\`); field(m, "uniquenick") != unregistered || field(m, "userid") != fmt.Sprint(ann.User) {
			t.Errorf("answer %q", m)
		}
	})
	t.Run("user id left out", func(t *testing.T) {
		p := f.connect()
		p.login("Ann", testPassword, `\gamename\HandHeld`)
		if m := p.want(`\lc\2\`); field(m, "userid") != "0" || field(m, "profileid") != fmt.Sprint(ann.ID) {
			t.Errorf("answer %q", m)
		}
	})
	t.Run("ticket", func(t *testing.T) {
		p := f.connect()
		p.login("Ann", testPassword, "")
		ticket := field(p.want(`\lc\2\`), "lt")
		if id, err := f.accounts.Grants.CheckTicket(ticket); len(ticket) != 24 || err != nil || id != ann.ID {
			t.Errorf("CheckTicket(%q) = %d, %v", ticket, id, err)
		}
	})
	t.Run("full server", func(t *testing.T) {
		f := start(t, nil)
		f.hub.SetMaxSessions(1)
		f.signIn(f.register("Ann"), 0)
		f.register("Ben")
		p := f.connect()
		p.login("Ben", testPassword, "")
		p.wantError(codeLogin)
		p.wantEnd()
	})
}

func TestBannedAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var banned bool
		f := startPipe(t, func(o *Options) { o.Banned = func(netip.Addr) bool { return banned } })
		p := f.signIn(f.register("Ann"), 0)
		quiet := f.signIn(f.register("Ben"), 0)
		synctest.Wait()
		banned = true
		p.send(`\status\1\sesskey\$K\statstring\x\locstring\\final\`)
		p.wantError(codeForced)
		p.wantEnd()
		quiet.wantError(codeForced) // at the next keepalive
		quiet.wantEnd()
		c, err := f.dial()
		if err != nil {
			t.Fatal(err)
		}
		late := f.peer(c)
		if m := late.wantError(codeLogin); field(m, "id") != "1" {
			t.Errorf("greeting %q", m)
		}
		late.wantEnd()
	})
}

func TestBannedAccountIsKicked(t *testing.T) {
	f := start(t, nil)
	ann := f.register("Ann")
	p := f.signIn(ann, 0)
	if n := f.hub.KickUser(context.Background(), ann.User, presence.ErrBanned); n != 1 {
		t.Fatalf("KickUser kicked %d", n)
	}
	p.wantError(codeForced)
	p.wantEnd()
}

// A request that is made while its receiver signs in is in the store when that
// is read, and is sent to the new session as well.
func TestRequestThatComesBothWaysIsShownOnce(t *testing.T) {
	f := start(t, nil)
	alice, bob := f.register("alice"), f.register("bob")
	p := f.signIn(bob, 63)
	ask := func(signature string) {
		t.Helper()
		if ok, err := f.hub.Send(t.Context(), bob.ID, presence.BuddyRequest{From: alice.ID, Reason: "hi", Signature: signature, Sent: time.Now()}); !ok || err != nil {
			t.Fatalf("Send: %v, error %v", ok, err)
		}
	}
	first, second := accounts.NewSignature(), accounts.NewSignature()
	ask(first)
	ask(first)
	ask(second)
	for _, want := range []string{first, second} {
		if m := p.want(`\bm\2\`); !strings.Contains(m, want) {
			t.Errorf("received %q, want the request with the signature %s", m, want)
		}
	}
	p.wantNothing()
}

// between is a Hub that calls a function between the proof of a login and the
// registration of its session.
type between struct {
	presence.Hub
	change func()
}

func (b between) SignIn(ctx context.Context, s presence.Session, p presence.Policy, st presence.Status) ([]presence.Session, error) {
	b.change()
	return b.Hub.SignIn(ctx, s, p, st)
}

// TestLogin_recheck: a change of the account between the proof and the registration of
// the session ends the login.
func TestLogin_recheck(t *testing.T) {
	for _, v := range []struct {
		name   string
		change func(*fixture, storage.Profile) error
		code   code // 0: signed in
	}{
		{"banned", func(f *fixture, p storage.Profile) error {
			return f.accounts.Users.Ban(f.t.Context(), p.User, time.Time{}, "", "test")
		}, codeLogin},
		{"password", func(f *fixture, p storage.Profile) error {
			return f.accounts.Passwords.Change(f.t.Context(), p.User, "another")
		}, codeLoginPassword},
		{"deleted", func(f *fixture, p storage.Profile) error {
			return f.accounts.Users.Delete(f.t.Context(), p.User)
		}, codeLoginDeleted},
		{"another account", func(f *fixture, _ storage.Profile) error {
			return f.accounts.Passwords.Change(f.t.Context(), f.register("Ben").User, "another")
		}, 0},
	} {
		t.Run(v.name, func(t *testing.T) {
			var f *fixture
			var hub *presence.Local
			var ann storage.Profile
			f = start(t, func(o *Options) {
				hub = presence.New(o.Store.(presence.Store), presence.Options{})
				o.Hub = between{hub, func() {
					if err := v.change(f, ann); err != nil {
						t.Errorf("change: %v", err)
					}
				}}
			})
			ann = f.register("Ann")
			p := f.connect()
			p.login("Ann", testPassword, "")
			if v.code == 0 {
				p.want(`\lc\2\`)
				return
			}
			p.wantError(v.code)
			p.wantEnd()
			if n := hub.Count(); n != 0 {
				t.Errorf("%d sessions after a refused login", n)
			}
		})
	}
}
