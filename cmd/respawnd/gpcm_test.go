package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/verdicts"
)

// annAndBen starts a daemon with two accounts: the operator has made one, a game
// the other. The unique nicks are the nicks.
func annAndBen(t *testing.T, more ...string) *running {
	t.Helper()
	d := start(t, t.TempDir(), more...)
	out := typed(t, d.cliEnv(), stormPassword+"\n", "account", "create",
		"--email", "Ann@example.com", "--nick", "Ann", "--uniquenick", "Ann", "--password-stdin")
	wantIn(t, out, "profile 1 (Ann)")
	if id := newUser(t.Context(), d.address["gpsp"], "Ben"); id != "2" {
		t.Fatalf("newuser made profile %q, want 2", id)
	}
	return d
}

// befriend lets Ann ask Ben, and Ben agree.
func befriend(ann, ben seat) {
	ann.t.Helper()
	ann.say(`\addbuddy\\sesskey\$K\newprofileid\%s\reason\play with me`, ben.Profile)
	request := ben.hears(`\bm\2\f\%s\`, ann.Profile)
	wantIn(ann.t, request, `\msg\play with me|signed|`)
	_, signature, _ := strings.Cut(strings.TrimSuffix(request, gamespy.Final), "|signed|")
	ben.say(`\authadd\\sesskey\$K\fromprofileid\%s\sig\%s`, ann.Profile, signature)
	ann.hears(`\bm\4\f\%s\`, ben.Profile)
	ann.hears(`\bm\100\f\%s\msg\|s|1|ss|Online|`, ben.Profile)
}

func TestPlayersBecomeBuddiesAndTalk(t *testing.T) {
	quick(t)
	t.Parallel()
	d := annAndBen(t)
	ann := signedIn(t, d, "uniquenick", "Ann")
	ben := signedIn(t, d, "user", "Ben@ben@example.com")
	if ann.Profile != "1" || ben.Profile != "2" {
		t.Fatalf("signed in as profiles %s and %s, want 1 and 2", ann.Profile, ben.Profile)
	}
	befriend(ann, ben)

	ben.say(`\status\3\sesskey\$K\statstring\In a game\locstring\harbour`)
	ann.hears(`\bm\100\f\2\msg\|s|3|ss|In a game|ls|harbour|`)
	ann.say(`\bm\1\sesskey\$K\t\2\msg\hello Ben`)
	wantIn(t, ben.hears(`\bm\1\f\1\date\`), `\msg\hello Ben\final\`)
	ben.say(`\bm\1\sesskey\$K\t\1\msg\hello Ann`)
	wantIn(t, ann.hears(`\bm\1\f\2\date\`), `\msg\hello Ann\final\`)
	ann.hearsNothing()
	ben.hearsNothing()

	if err := ben.leave(); err != nil {
		t.Fatal(err)
	}
	ann.hears(`\bm\100\f\2\msg\|s|0|ss|Offline|`)
	d.stop()
	ann.hears(`\error\\err\0\`)
	ann.isOut()
}

func TestMessageForAnAbsentPlayer(t *testing.T) {
	t.Parallel()
	d := annAndBen(t)
	ann, ben := signedIn(t, d, "uniquenick", "Ann"), signedIn(t, d, "uniquenick", "Ben")
	befriend(ann, ben)
	if err := ben.leave(); err != nil {
		t.Fatal(err)
	}
	ann.hears(`\bm\100\f\2\msg\|s|0|`)
	ann.say(`\bm\1\sesskey\$K\t\2\msg\first`)
	ann.say(`\bm\1\sesskey\$K\t\2\msg\second`)
	ann.hearsNothing()

	ben = signedIn(t, d, "uniquenick", "Ben")
	for _, text := range []string{"first", "second"} {
		wantIn(t, ben.hears(`\bm\1\f\1\date\`), `\msg\`+text+`\final\`)
	}
	ben.hearsNothing()
	if err := ben.leave(); err != nil {
		t.Fatal(err)
	}
	signedIn(t, d, "uniquenick", "Ben").hearsNothing()
	d.stop()
}

func TestBlockedPlayer(t *testing.T) {
	t.Parallel()
	d := annAndBen(t)
	ann, ben := signedIn(t, d, "uniquenick", "Ann"), signedIn(t, d, "uniquenick", "Ben")
	befriend(ann, ben)
	ben.say(`\addblock\\sesskey\$K\profileid\1`)
	ann.hears(`\bm\100\f\2\msg\|s|0|`)
	ben.say(`\status\2\sesskey\$K\statstring\Secret\locstring\`)
	ben.hearsNothing()
	ann.say(`\bm\1\sesskey\$K\t\2\msg\are you there`)
	ann.hearsNothing() // no status, and no error either
	ben.hearsNothing()

	again := signedIn(t, d, "uniquenick", "Ann")
	again.hearsNothing()
	ben.say(`\removeblock\\sesskey\$K\profileid\1`)
	again.hears(`\bm\100\f\2\msg\|s|2|ss|Secret|`)
	d.stop()
}

func TestSecondLoginTakesOver(t *testing.T) {
	t.Parallel()
	d := annAndBen(t)
	first := signedIn(t, d, "uniquenick", "Ann")
	second := signedIn(t, d, "user", "Ann@ann@example.com")
	first.hears(`\error\\err\6\fatal\`)
	first.isOut()
	second.hearsNothing()
	d.stop()
}

func TestWrongLoginsAreRefused(t *testing.T) {
	t.Parallel()
	d := annAndBen(t)
	for name, tc := range map[string]struct {
		by, who, password string
		code              int
	}{
		"wrong password":              {"uniquenick", "Ann", "wrong", 260},
		"wrong password, with e-mail": {"user", "Ann@ann@example.com", "wrong", 260},
		"unknown unique nick":         {"uniquenick", "Unknown", stormPassword, 265},
		"unknown e-mail":              {"user", "Ann@unknown@example.com", stormPassword, 259},
		"unknown nick":                {"user", "Unknown@ann@example.com", stormPassword, 261},
	} {
		s := greeted(t, d)
		if err := s.knock(tc.by, tc.who, tc.password); err != nil {
			t.Fatal(err)
		}
		m := s.hears(`\error\\err\%d\fatal\`, tc.code)
		if field(m, "id") != "1" {
			t.Errorf("%s: refused with %q, want id 1", name, m)
		}
		s.isOut()
	}
	d.stop()
}

// Doctor reports to the operator why a player cannot sign in. The public page
// does not show it.
func TestDoctorTellsHowPlayersSignedIn(t *testing.T) {
	t.Parallel()
	d := annAndBen(t)
	knock := func(who, password, answer string) {
		t.Helper()
		s := greeted(t, d)
		if err := s.knock("uniquenick", who, password); err != nil {
			t.Fatal(err)
		}
		s.hears("%s", answer)
	}
	want := func(service string, v verdicts.Verdict) { t.Helper(); d.wantVisit(service, " for game "+testGame, v) }
	want("gpsp", verdicts.AccountMade)
	knock("Ann", "wrong", `\error\\err\260\`)
	want("gpcm", verdicts.WrongPassword)
	knock("Unknown", stormPassword, `\error\\err\265\`)
	want("gpcm", verdicts.NoSuchAccount)
	signedIn(t, d, "uniquenick", "Ann")
	want("gpcm", verdicts.SignedIn)
	d.cli("account", "ban", "Ben")
	knock("Ben", stormPassword, `\error\\err\256\`)
	want("gpcm", verdicts.AccountBanned)
	wantIn(t, d.cli("doctor", "127.0.0.1"), "No packet of a game server came from 127.0.0.1")
	if page := pageText(t, d, "/why"); strings.Contains(page, verdicts.WrongPassword.String()) {
		t.Errorf("/why shows a sign-in:\n%s", page)
	}
	d.stop()
}

// TestDoctorOtherNamespace checks that doctor names the namespace of a unique nick if the
// game signs in with another one.
func TestDoctorOtherNamespace(t *testing.T) {
	t.Parallel()
	d := start(t, t.TempDir(), variable("accounts.nick_fallback", "false"))
	typed(t, d.cliEnv(), stormPassword+"\n", "account", "create",
		"--email", "cid@example.com", "--nick", "Cid", "--uniquenick", "Cid", "--game", "battlefield2", "--password-stdin")
	s := greeted(t, d)
	if err := s.knock("uniquenick", "Cid", stormPassword); err != nil {
		t.Fatal(err)
	}
	s.hears(`\error\\err\265\`)
	d.wantVisit("gpcm", " for game "+testGame, verdicts.OtherNamespace)
	wantIn(t, d.cli("doctor", "127.0.0.1"), "the game signs in with namespace 1, the nick is in namespace 12", "respawnd account create --game NAME")
	d.stop()
}

func TestBannedAccountIsOutAtOnce(t *testing.T) {
	t.Parallel()
	d := annAndBen(t)
	ann := signedIn(t, d, "uniquenick", "Ann")
	d.cli("account", "ban", "Ann")
	ann.hears(`\error\\err\6\fatal\`)
	ann.isOut()
	for by, who := range map[string]string{"uniquenick": "Ann", "user": "Ann@ann@example.com"} {
		s := greeted(t, d)
		if err := s.knock(by, who, stormPassword); err != nil {
			t.Fatal(err)
		}
		s.hears(`\error\\err\256\fatal\`)
		s.isOut()
	}
	signedIn(t, d, "uniquenick", "Ben").hearsNothing() // another player is not affected
	d.cli("account", "unban", "Ann")
	signedIn(t, d, "uniquenick", "Ann").hearsNothing()
	d.stop()
}

// All services see the same accounts.
func TestServicesShareTheAccounts(t *testing.T) {
	t.Parallel()
	d := annAndBen(t)
	ann, ben := signedIn(t, d, "uniquenick", "Ann"), signedIn(t, d, "uniquenick", "Ben")
	befriend(ann, ben)
	fields := strings.Join(strings.Fields(d.cli("account", "show", "Ann")), " ")
	wantIn(t, fields, "e-mail Ann@example.com", "Ann in namespace 1", "buddies 2")

	search := func(request string) string {
		t.Helper()
		answer, err := askSearch(t.Context(), d.address["gpsp"], request)
		if err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		return answer
	}
	wantIn(t, search(`\search\\uniquenick\ann\namespaceid\1\partnerid\0\gamename\gmtest\final\`), `\bsr\1\nick\Ann\uniquenick\Ann\`)
	wantIn(t, search(fmt.Sprintf(`\others\\sesskey\%s\profileid\2\namespaceid\1\gamename\gmtest\final\`, ben.Session)), `\o\1\nick\Ann\`)

	// A profile that is made in a game appears in the operator's commands, and
	// in searches.
	ann.say(`\newprofile\\sesskey\$K\nick\Annie\id\3`)
	ann.hears(`\npr\\profileid\3\id\3`)
	wantIn(t, d.cli("account", "list"), "Annie")
	nicks := fmt.Sprintf(`\nicks\\email\ann@example.com\passenc\%s\namespaceid\1\partnerid\0\gamename\gmtest\final\`,
		gamespy.EncodePassword(stormPassword))
	wantIn(t, search(nicks), `\nr\2`, `\nick\Ann\`, `\nick\Annie\`)

	// A new password set by the operator is valid in the game.
	typed(t, d.cliEnv(), "another one\n", "account", "passwd", "Ann", "--password-stdin")
	ann.hears(`\error\\err\6\`)
	ann.isOut()
	wantIn(t, search(nicks), `\nr\0`)
	s := greeted(t, d)
	if err := s.enter("uniquenick", "Ann", "another one"); err != nil {
		t.Errorf("login with the new password: %v", err)
	}
	d.cli("account", "delete", "Ann")
	s.hears(`\bm\100\f\2\`)
	s.hears(`\error\\err\6\`)
	s.isOut()
	wantIn(t, search(`\valid\\email\ann@example.com\partnerid\0\gamename\gmtest\final\`), `\vr\0`)
	d.stop()
}
