package signin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/internal/verdicts"
	"github.com/respawnd/respawnd/test/rig"
)

func TestPlayersBecomeBuddiesAndTalk(t *testing.T) {
	rig.Quick(t)
	t.Parallel()
	d := rig.AnnAndBen(t)
	ann := rig.SignedIn(t, d, "uniquenick", "Ann")
	ben := rig.SignedIn(t, d, "user", "Ben@ben@example.com")
	if ann.Profile != "1" || ben.Profile != "2" {
		t.Fatalf("signed in as profiles %s and %s, want 1 and 2", ann.Profile, ben.Profile)
	}
	rig.Befriend(ann, ben)

	ben.Say(`\status\3\sesskey\$K\statstring\In a game\locstring\harbour`)
	ann.Hears(`\bm\100\f\2\msg\|s|3|ss|In a game|ls|harbour|`)
	ann.Say(`\bm\1\sesskey\$K\t\2\msg\hello Ben`)
	rig.WantIn(t, ben.Hears(`\bm\1\f\1\date\`), `\msg\hello Ben\final\`)
	ben.Say(`\bm\1\sesskey\$K\t\1\msg\hello Ann`)
	rig.WantIn(t, ann.Hears(`\bm\1\f\2\date\`), `\msg\hello Ann\final\`)
	ann.HearsNothing()
	ben.HearsNothing()

	if err := ben.MustLeave(); err != nil {
		t.Fatal(err)
	}
	ann.Hears(`\bm\100\f\2\msg\|s|0|ss|Offline|`)
	d.Stop()
	ann.Hears(`\error\\err\0\`)
	ann.IsOut()
}

func TestMessageForAnAbsentPlayer(t *testing.T) {
	t.Parallel()
	d := rig.AnnAndBen(t)
	ann, ben := rig.SignedIn(t, d, "uniquenick", "Ann"), rig.SignedIn(t, d, "uniquenick", "Ben")
	rig.Befriend(ann, ben)
	if err := ben.MustLeave(); err != nil {
		t.Fatal(err)
	}
	ann.Hears(`\bm\100\f\2\msg\|s|0|`)
	ann.Say(`\bm\1\sesskey\$K\t\2\msg\first`)
	ann.Say(`\bm\1\sesskey\$K\t\2\msg\second`)
	ann.HearsNothing()

	ben = rig.SignedIn(t, d, "uniquenick", "Ben")
	for _, text := range []string{"first", "second"} {
		rig.WantIn(t, ben.Hears(`\bm\1\f\1\date\`), `\msg\`+text+`\final\`)
	}
	ben.HearsNothing()
	if err := ben.MustLeave(); err != nil {
		t.Fatal(err)
	}
	rig.SignedIn(t, d, "uniquenick", "Ben").HearsNothing()
	d.Stop()
}

func TestBlockedPlayer(t *testing.T) {
	t.Parallel()
	d := rig.AnnAndBen(t)
	ann, ben := rig.SignedIn(t, d, "uniquenick", "Ann"), rig.SignedIn(t, d, "uniquenick", "Ben")
	rig.Befriend(ann, ben)
	ben.Say(`\addblock\\sesskey\$K\profileid\1`)
	ann.Hears(`\bm\100\f\2\msg\|s|0|`)
	ben.Say(`\status\2\sesskey\$K\statstring\Secret\locstring\`)
	ben.HearsNothing()
	ann.Say(`\bm\1\sesskey\$K\t\2\msg\are you there`)
	ann.HearsNothing() // no status, and no error either
	ben.HearsNothing()

	again := rig.SignedIn(t, d, "uniquenick", "Ann")
	again.HearsNothing()
	ben.Say(`\removeblock\\sesskey\$K\profileid\1`)
	again.Hears(`\bm\100\f\2\msg\|s|2|ss|Secret|`)
	d.Stop()
}

func TestSecondLoginTakesOver(t *testing.T) {
	t.Parallel()
	d := rig.AnnAndBen(t)
	first := rig.SignedIn(t, d, "uniquenick", "Ann")
	second := rig.SignedIn(t, d, "user", "Ann@ann@example.com")
	first.Hears(`\error\\err\6\fatal\`)
	first.IsOut()
	second.HearsNothing()
	d.Stop()
}

func TestWrongLoginsAreRefused(t *testing.T) {
	t.Parallel()
	d := rig.AnnAndBen(t)
	for name, tc := range map[string]struct {
		by, who, password string
		code              int
	}{
		"wrong password":              {"uniquenick", "Ann", "wrong", 260},
		"wrong password, with e-mail": {"user", "Ann@ann@example.com", "wrong", 260},
		"unknown unique nick":         {"uniquenick", "Unknown", rig.StormPassword, 265},
		"unknown e-mail":              {"user", "Ann@unknown@example.com", rig.StormPassword, 259},
		"unknown nick":                {"user", "Unknown@ann@example.com", rig.StormPassword, 261},
	} {
		s := rig.Greeted(t, d)
		if err := s.Knock(tc.by, tc.who, tc.password); err != nil {
			t.Fatal(err)
		}
		m := s.Hears(`\error\\err\%d\fatal\`, tc.code)
		if rig.Field(m, "id") != "1" {
			t.Errorf("%s: refused with %q, want id 1", name, m)
		}
		s.IsOut()
	}
	d.Stop()
}

// Doctor reports to the operator why a player cannot sign in. The public page
// does not show it.
func TestDoctorTellsHowPlayersSignedIn(t *testing.T) {
	t.Parallel()
	d := rig.AnnAndBen(t)
	knock := func(who, password, answer string) {
		t.Helper()
		s := rig.Greeted(t, d)
		if err := s.Knock("uniquenick", who, password); err != nil {
			t.Fatal(err)
		}
		s.Hears("%s", answer)
	}
	want := func(service string, v verdicts.Verdict) {
		t.Helper()
		d.WantVisit(service, " for game "+rig.TestGame, v)
	}
	want("gpsp", verdicts.AccountMade)
	knock("Ann", "wrong", `\error\\err\260\`)
	want("gpcm", verdicts.WrongPassword)
	knock("Unknown", rig.StormPassword, `\error\\err\265\`)
	want("gpcm", verdicts.NoSuchAccount)
	rig.SignedIn(t, d, "uniquenick", "Ann")
	want("gpcm", verdicts.SignedIn)
	d.Cli("account", "ban", "Ben")
	knock("Ben", rig.StormPassword, `\error\\err\256\`)
	want("gpcm", verdicts.AccountBanned)
	rig.WantIn(t, d.Cli("doctor", "127.0.0.1"), "No packet of a game server came from 127.0.0.1")
	if page := rig.PageText(t, d, "/why"); strings.Contains(page, verdicts.WrongPassword.String()) {
		t.Errorf("/why shows a sign-in:\n%s", page)
	}
	d.Stop()
}

// TestDoctorOtherNamespace checks that doctor names the namespace of a unique nick if the
// game signs in with another one.
func TestDoctorOtherNamespace(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("accounts.nick_fallback", "false"))
	rig.Typed(t, d.CliEnv(), rig.StormPassword+"\n", "account", "create",
		"--email", "cid@example.com", "--nick", "Cid", "--uniquenick", "Cid", "--game", "battlefield2", "--password-stdin")
	s := rig.Greeted(t, d)
	if err := s.Knock("uniquenick", "Cid", rig.StormPassword); err != nil {
		t.Fatal(err)
	}
	s.Hears(`\error\\err\265\`)
	d.WantVisit("gpcm", " for game "+rig.TestGame, verdicts.OtherNamespace)
	rig.WantIn(t, d.Cli("doctor", "127.0.0.1"), "the game signs in with namespace 1, the nick is in namespace 12", "respawnd account create --game NAME")
	d.Stop()
}

func TestBannedAccountIsOutAtOnce(t *testing.T) {
	t.Parallel()
	d := rig.AnnAndBen(t)
	ann := rig.SignedIn(t, d, "uniquenick", "Ann")
	d.Cli("account", "ban", "Ann")
	ann.Hears(`\error\\err\6\fatal\`)
	ann.IsOut()
	for by, who := range map[string]string{"uniquenick": "Ann", "user": "Ann@ann@example.com"} {
		s := rig.Greeted(t, d)
		if err := s.Knock(by, who, rig.StormPassword); err != nil {
			t.Fatal(err)
		}
		s.Hears(`\error\\err\256\fatal\`)
		s.IsOut()
	}
	rig.SignedIn(t, d, "uniquenick", "Ben").HearsNothing() // another player is not affected
	d.Cli("account", "unban", "Ann")
	rig.SignedIn(t, d, "uniquenick", "Ann").HearsNothing()
	d.Stop()
}

// All services see the same accounts.
func TestServicesShareTheAccounts(t *testing.T) {
	t.Parallel()
	d := rig.AnnAndBen(t)
	ann, ben := rig.SignedIn(t, d, "uniquenick", "Ann"), rig.SignedIn(t, d, "uniquenick", "Ben")
	rig.Befriend(ann, ben)
	fields := strings.Join(strings.Fields(d.Cli("account", "show", "Ann")), " ")
	rig.WantIn(t, fields, "e-mail Ann@example.com", "Ann in namespace 1", "buddies 2")

	search := func(request string) string {
		t.Helper()
		answer, err := rig.AskSearch(t.Context(), d.Address["gpsp"], request)
		if err != nil {
			t.Fatalf("%s: %v", request, err)
		}
		return answer
	}
	rig.WantIn(t, search(`\search\\uniquenick\ann\namespaceid\1\partnerid\0\gamename\gmtest\final\`), `\bsr\1\nick\Ann\uniquenick\Ann\`)
	rig.WantIn(t, search(fmt.Sprintf(`\others\\sesskey\%s\profileid\2\namespaceid\1\gamename\gmtest\final\`, ben.Session)), `\o\1\nick\Ann\`)

	// A profile that is made in a game appears in the operator's commands, and
	// in searches.
	ann.Say(`\newprofile\\sesskey\$K\nick\Annie\id\3`)
	ann.Hears(`\npr\\profileid\3\id\3`)
	rig.WantIn(t, d.Cli("account", "list"), "Annie")
	nicks := fmt.Sprintf(`\nicks\\email\ann@example.com\passenc\%s\namespaceid\1\partnerid\0\gamename\gmtest\final\`,
		gamespy.EncodePassword(rig.StormPassword))
	rig.WantIn(t, search(nicks), `\nr\2`, `\nick\Ann\`, `\nick\Annie\`)

	// A new password set by the operator is valid in the game.
	rig.Typed(t, d.CliEnv(), "another one\n", "account", "passwd", "Ann", "--password-stdin")
	ann.Hears(`\error\\err\6\`)
	ann.IsOut()
	rig.WantIn(t, search(nicks), `\nr\0`)
	s := rig.Greeted(t, d)
	if err := s.Enter("uniquenick", "Ann", "another one"); err != nil {
		t.Errorf("login with the new password: %v", err)
	}
	d.Cli("account", "delete", "--yes", "Ann")
	s.Hears(`\bm\100\f\2\`)
	s.Hears(`\error\\err\6\`)
	s.IsOut()
	rig.WantIn(t, search(`\valid\\email\ann@example.com\partnerid\0\gamename\gmtest\final\`), `\vr\0`)
	d.Stop()
}
