package accounts

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/respawnd/respawnd/internal/gamespy"
	"github.com/respawnd/respawnd/storage"
)

// recorded is a login that an original client made, with the proof that it
// accepted.
type recorded struct {
	Form            string `json:"form"`
	Partner         int    `json:"partnerid"`
	Namespace       int    `json:"namespaceid"`
	Secret          string `json:"secret"`
	ServerChallenge string `json:"server_challenge"`
	Proof           string `json:"proof"`
	Request         string `json:"request"`
}

func recordings(t testing.TB) []recorded {
	t.Helper()
	text, err := os.ReadFile("testdata/logins.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	if err := json.Unmarshal(text, &all); err != nil || len(all) != 26 {
		t.Fatalf("%d recordings, %v, want 26", len(all), err)
	}
	return all
}

// proof returns the proof as a service would read it from the request.
func (r recorded) proof(t testing.TB) Proof {
	t.Helper()
	m, err := gamespy.ParseMessage([]byte(strings.TrimSuffix(r.Request, gamespy.Final)))
	if err != nil {
		t.Fatal(err)
	}
	get := func(key string) string { v, _ := m.Get(key); return v }
	return Proof{
		Token: get("authtoken"), Ticket: get("lt"), UniqueNick: get("uniquenick"), User: get("user"),
		Partner: r.Partner, Namespace: r.Namespace, From: home(),
		ServerChallenge: r.ServerChallenge, ClientChallenge: get("challenge"), Response: get("response"),
	}
}

// capitals returns s with its ASCII letters in upper case.
func capitals(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'a' <= c && c <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// prepare makes the account, token or ticket of a recording.
func (r recorded) prepare(t testing.TB, s *Service) {
	t.Helper()
	p := r.proof(t)
	a := Account{Partner: r.Partner, Email: "other@example.com", Password: r.Secret}
	prof := storage.Profile{Nick: "Nick"}
	switch r.Form {
	case "uniquenick":
		prof.UniqueNicks = []storage.UniqueNick{{Namespace: r.Namespace, Nick: capitals(p.UniqueNick)}}
	case "user":
		nick, email, ok := SplitUser(p.User)
		if !ok {
			t.Fatalf("SplitUser(%q) = false", p.User)
		}
		prof.Nick, a.Email = capitals(nick), capitals(email)
	default:
		a.Password = ""
	}
	a.Profiles = []AccountProfile{{Profile: prof}}
	a, err := s.Transfer.Import(t.Context(), a)
	if err != nil {
		t.Fatalf("Import() = %v", err)
	}
	id, later := a.Profiles[0].Profile.ID, time.Now().Add(time.Hour)
	switch r.Form {
	case "authtoken":
		_ = s.Grants.tokens.add(p.Token, grant{id, r.Secret, later, true}, time.Now())
	case "lt":
		_ = s.Grants.tickets.add(p.Ticket, grant{profile: id, expires: later, once: true}, time.Now())
	}
}

func TestRecordedLoginsOfOriginalClients(t *testing.T) {
	for _, r := range recordings(t) {
		t.Run(r.Form, func(t *testing.T) {
			s := open(t, Options{})
			r.prepare(t, s)
			p := r.proof(t)
			p.Response = strings.ToUpper(p.Response) + "garbage"
			l := wantLogin(t, s, r.Request, p)
			if l.Proof != r.Proof || l.User != 1 || l.Profile.ID != 1 {
				t.Errorf("CheckProof(%s) = user %d, profile %d, proof %s, want 1, 1, %s", r.Request, l.User, l.Profile.ID, l.Proof, r.Proof)
			}
			if r.Form == "uniquenick" && l.UniqueNick != capitals(p.UniqueNick) {
				t.Errorf("unique nick = %q, want the stored spelling", l.UniqueNick)
			}
		})
	}
}

func TestEveryPartOfAProofCounts(t *testing.T) {
	for _, r := range recordings(t) {
		s := open(t, Options{})
		r.prepare(t, s)
		for what, spoil := range map[string]func(*Proof){
			"response":         func(p *Proof) { p.Response = strings.Repeat("0", 32) },
			"short response":   func(p *Proof) { p.Response = p.Response[:31] },
			"no response":      func(p *Proof) { p.Response = "" },
			"server challenge": func(p *Proof) { p.ServerChallenge += "x" },
			"client challenge": func(p *Proof) { p.ClientChallenge = "" },
			"swapped challenges": func(p *Proof) {
				p.ServerChallenge, p.ClientChallenge = p.ClientChallenge, p.ServerChallenge
			},
		} {
			p := r.proof(t)
			spoil(&p)
			_, err := s.SignIn.CheckProof(t.Context(), p)
			wantRefusal(t, r.Form+" with another "+what, err, ErrBadPassword)
		}
		wantLogin(t, s, r.Request, r.proof(t))
	}
}

func TestLoginRefusals(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	if _, err := s.Profiles.New(t.Context(), p.User, "Second"); err != nil {
		t.Fatal(err)
	}
	gone, err := s.Profiles.New(t.Context(), p.User, "Gone")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Profiles.Delete(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	expired := s.Grants.IssueTicket(p.ID)
	s.Grants.tickets.(*grantMemory).all = nil // a ticket of the process before
	tests := map[string]struct {
		proof Proof
		want  Refusal
	}{
		"nothing":                   {Proof{}, ErrMalformed},
		"no e-mail":                 {prove(Proof{User: "Alice"}, "rosebud"), ErrMalformed},
		"one @":                     {prove(Proof{User: "Alice@example.com"}, "rosebud"), ErrMalformed},
		"unknown unique nick":       {byNick("Unknown", "rosebud"), ErrBadUniqueNick},
		"like a unique nick":        {byNick("%AliceU%", "rosebud"), ErrBadUniqueNick},
		"another namespace":         {prove(Proof{UniqueNick: "AliceU", Namespace: 2}, "rosebud"), ErrBadUniqueNick},
		"no namespace":              {prove(Proof{UniqueNick: "AliceU"}, "rosebud"), ErrBadUniqueNick},
		"negative namespace":        {prove(Proof{UniqueNick: "AliceU", Namespace: -1}, "rosebud"), ErrBadUniqueNick},
		"another partner":           {prove(Proof{UniqueNick: "AliceU", Namespace: 1, Partner: 10}, "rosebud"), ErrBadUniqueNick},
		"unknown e-mail":            {prove(Proof{User: "Alice@x@y.z"}, "rosebud"), ErrBadEmail},
		"e-mail of another partner": {prove(Proof{User: "Alice@alice@example.com", Partner: 10}, "rosebud"), ErrBadEmail},
		"unknown nick":              {prove(Proof{User: "Bob@alice@example.com"}, "rosebud"), ErrBadProfile},
		"empty nick":                {prove(Proof{User: "@alice@example.com"}, "rosebud"), ErrBadProfile},
		"deleted nick":              {prove(Proof{User: "Gone@alice@example.com", Profile: gone.ID}, "rosebud"), ErrProfileDeleted},
		"unknown profile hint":      {prove(Proof{User: "Gone@alice@example.com", Profile: 999}, "rosebud"), ErrBadProfile},
		"wrong password":            {byNick("AliceU", "rosebud "), ErrBadPassword},
		"wrong case":                {byNick("AliceU", "Rosebud"), ErrBadPassword},
		"unknown token":             {Proof{Token: "x"}, ErrBadToken},
		"unknown ticket":            {Proof{Ticket: "x"}, ErrBadTicket},
		"ticket of another process": {Proof{Ticket: expired}, ErrBadTicket},
	}
	for name, tt := range tests {
		s.guard.failures = newFailures()
		_, err := s.SignIn.CheckProof(t.Context(), tt.proof)
		wantRefusal(t, name, err, tt.want)
	}
	for name, p := range map[string]Proof{
		"unique nick in another case": byNick("aLICEu", "rosebud"),
		"nick and e-mail":             prove(Proof{User: "ALICE@alice@example.COM"}, "rosebud"),
		"second nick":                 prove(Proof{User: "second@alice@example.com"}, "rosebud"),
	} {
		wantLogin(t, s, name, p)
	}
}

func TestNickMayHaveAnAt(t *testing.T) {
	for user, want := range map[string][2]string{
		"we@ird@q@r.st": {"we@ird", "q@r.st"}, "a@b@c": {"a", "b@c"}, "@@": {"", "@"}, "@@@": {"@", "@"},
	} {
		nick, email, ok := SplitUser(user)
		if !ok || nick != want[0] || email != want[1] {
			t.Errorf("SplitUser(%q) = %q, %q, %v, want %q", user, nick, email, ok, want)
		}
	}
	for _, user := range []string{"", "a", "a@b", "@"} {
		if _, _, ok := SplitUser(user); ok {
			t.Errorf("SplitUser(%q) = true", user)
		}
	}
}

func TestTicketIsGoodForOneLogin(t *testing.T) {
	s := open(t, Options{})
	id := register(t, s, alice()).ID
	ticket := s.Grants.IssueTicket(id)
	if len(ticket) != TicketLen || strings.ContainsAny(ticket, `\+/=`) {
		t.Errorf("IssueTicket() = %q, want %d characters without escapes", ticket, TicketLen)
	}
	for range 2 {
		if got, err := s.Grants.CheckTicket(ticket); got != id || err != nil {
			t.Errorf("CheckTicket() = %d, %v, want %d", got, err, id)
		}
	}
	p := Proof{Ticket: ticket, ServerChallenge: "s", ClientChallenge: "c", From: home()}
	// Some clients take the ticket for the password too.
	p.Response = respond(secretOf(ticket), ticket, "c", "s")
	if l := wantLogin(t, s, "the first login", p); l.Proof != respond(secretOf(ticket), ticket, "s", "c") {
		t.Errorf("proof = %s", l.Proof)
	}
	_, err := s.SignIn.CheckProof(t.Context(), p)
	wantRefusal(t, "the second login", err, ErrBadTicket)
	_, err = s.Grants.CheckTicket(ticket)
	wantRefusal(t, "CheckTicket() after the login", err, ErrBadTicket)
}

func TestGrantsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Options{})
		id := register(t, s, alice()).ID
		ticket := s.Grants.IssueTicket(id)
		token := s.Grants.IssueToken(id, 1000*time.Hour, false)
		short := s.Grants.IssueToken(id, 0, false)
		if life := time.Until(token.Expires); life != MaxTokenLife {
			t.Errorf("the token is good for %v, want %v", life, MaxTokenLife)
		}
		if life := time.Until(short.Expires); life != DefaultTokenLife {
			t.Errorf("the token is good for %v, want %v", life, DefaultTokenLife)
		}
		with := func(tok Token) Proof {
			return Proof{Token: tok.Value, From: home(), Response: respond(secretOf(tok.Challenge), tok.Value, "", "")}
		}
		time.Sleep(TicketLife - 1)
		if _, err := s.Grants.CheckTicket(ticket); err != nil {
			t.Errorf("CheckTicket() in time = %v", err)
		}
		_, err := s.SignIn.CheckProof(t.Context(), with(short))
		wantRefusal(t, "a login with an expired token", err, ErrBadToken)
		time.Sleep(time.Nanosecond)
		_, err = s.Grants.CheckTicket(ticket)
		wantRefusal(t, "CheckTicket() too late", err, ErrExpiredTicket)
		token = s.Grants.IssueToken(id, MaxTokenLife, false)
		for range 2 {
			wantLogin(t, s, "a token for many logins", with(token))
		}
		s.Grants.Revoke(id)
		_, err = s.SignIn.CheckProof(t.Context(), with(token))
		wantRefusal(t, "a login with a revoked token", err, ErrBadToken)
		once := s.Grants.IssueToken(id, 0, true)
		wantLogin(t, s, "a token for one login", with(once))
		_, err = s.SignIn.CheckProof(t.Context(), with(once))
		wantRefusal(t, "its second login", err, ErrBadToken)
	})
}

func TestGrantsOfDeletedProfilesAreGone(t *testing.T) {
	s := open(t, Options{})
	p := register(t, s, alice())
	second, err := s.Profiles.New(t.Context(), p.User, "Second")
	if err != nil {
		t.Fatal(err)
	}
	ticket := s.Grants.IssueTicket(second.ID)
	_ = s.Grants.tokens.add("tok", grant{second.ID, "ch", time.Now().Add(time.Hour), false}, time.Now())
	// As if the deletion had happened between issuing and use.
	if err := s.store.DeleteProfile(t.Context(), second.ID); err != nil {
		t.Fatal(err)
	}
	_, err = s.SignIn.CheckProof(t.Context(), Proof{Token: "tok", From: home(), Response: respond(secretOf("ch"), "tok", "", "")})
	wantRefusal(t, "a login with the token of a deleted profile", err, ErrProfileDeleted)
	third, err := s.Profiles.New(t.Context(), p.User, "Third")
	if err != nil {
		t.Fatal(err)
	}
	ticket3 := s.Grants.IssueTicket(third.ID)
	if err := s.Users.Delete(t.Context(), p.User); err != nil {
		t.Fatal(err)
	}
	for _, ticket := range []string{ticket, ticket3} {
		if id, err := s.Grants.CheckTicket(ticket); err == nil && id == third.ID {
			t.Errorf("CheckTicket() of a deleted user = %d", id)
		}
	}
}

func TestGrantLimitPerProfile(t *testing.T) {
	g := newGrantMemory(100)
	now := time.Now()
	give := func(value string, to storage.ProfileID) {
		_ = g.add(value, grant{profile: to, expires: now.Add(time.Hour)}, now)
	}
	give("other", 1)
	for i := range 200 {
		give(strconv.Itoa(i), 2)
	}
	for value, want := range map[string]bool{"other": true, "199": true, strconv.Itoa(200 - maxGrantsEach): true, strconv.Itoa(199 - maxGrantsEach): false} {
		if _, err := g.find(value, now); (err == nil) != want {
			t.Errorf("grant %s: %v, want it there: %v", value, err, want)
		}
	}
	_ = g.revoke(2)
	if _, err := g.find("other", now); err != nil || len(g.all) != 1 || g.ages.Len() != 1 || len(g.byProfile) != 1 {
		t.Errorf("after all of one profile are revoked: %v, %d grants, %d in order, of %d profiles; want 1", err, len(g.all), g.ages.Len(), len(g.byProfile))
	}
}

func TestGrantsAreBounded(t *testing.T) {
	g := newGrantMemory(10)
	now := time.Now()
	for i := range 100 {
		_ = g.add(strings.Repeat("x", i+1), grant{profile: storage.ProfileID(i), expires: now.Add(time.Hour)}, now)
		_ = g.add(strings.Repeat("x", i+1), grant{profile: storage.ProfileID(i), expires: now.Add(time.Hour)}, now)
	}
	if len(g.all) != 10 || g.ages.Len() != 10 {
		t.Errorf("%d grants, %d in order, want 10", len(g.all), g.ages.Len())
	}
	if _, err := g.find("x", now); err == nil {
		t.Error("the oldest grant is still there")
	}
	if v, err := g.find(strings.Repeat("x", 100), now); err != nil || v.profile != 99 {
		t.Errorf("the newest grant is %+v, %v", v, err)
	}
	_ = g.add("late", grant{expires: now.Add(3 * time.Hour)}, now.Add(2*time.Hour))
	if len(g.all) != 1 {
		t.Errorf("%d grants after all others expired, want 1", len(g.all))
	}
}

// TestResponseOfTicket computes an example that kirov-server-emulator publishes: a game of EA signs in with
// the ticket of its own service.
func TestResponseOfTicket(t *testing.T) {
	const (
		ticket = "MTAwMDAwMXwyMDAwMDAxfER1bW15U2VjcmV0VG9rZW4xMjM="
		client = "a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6"
		server = "ABCDEFGHIJ"
	)
	secret := secretOf("abcdefgh")
	if got := respond(secret, ticket, client, server); got != "98eca380e91ea22929e8d97c771bd5c1" {
		t.Errorf("response %s", got)
	}
	if got := respond(secret, ticket, server, client); got != "b45781b2880edefccf21cb5a3b5b6c93" {
		t.Errorf("proof %s", got)
	}
}
