package master

import "testing"

func TestOriginsAreFoundByNameAndNumber(t *testing.T) {
	all := Origins{fromQR2, fromQR1, fromZandronum}
	for _, o := range all {
		if got := all.Named(o.Name); got != o {
			t.Errorf("Named(%q) = %v", o.Name, got)
		}
		if got := all.Numbered(o.Number); got != o && o.Number != 0 {
			t.Errorf("Numbered(%d) = %v, want %v", o.Number, got, o)
		}
	}
	if got := all.Named("unknown"); got != nil || got.String() != "unknown" {
		t.Errorf("Named(unknown) = %v", got)
	}
	if got := all.Numbered(0); got != nil {
		t.Errorf("Numbered(0) = %v, want none: not all origins have a number", got)
	}
}

func TestProtocolsOfQueries(t *testing.T) {
	optional := &Origin{Query: "gs1", QueryRule: "port"}
	a2s := []string{RuleAppID, "10", RuleServerType, "dedicated"}
	for name, tt := range map[string]struct {
		server       Server
		rules        []string
		query        string
		gamespy, a2s bool
	}{
		"of its origin":            {Server{Origin: fromQR2, Query: "ssq"}, a2s, "gs3", true, false},
		"A2S":                      {Server{Origin: &Origin{Query: "a2s"}}, nil, "a2s", false, true},
		"its own":                  {Server{Origin: Static, Query: "ssq"}, nil, "ssq", true, false},
		"its own, which is A2S":    {Server{Origin: Found, Query: "a2s"}, a2s, "a2s", false, true},
		"with the rule":            {Server{Origin: optional}, []string{"port", "1"}, "gs1", true, false},
		"that answers none":        {Server{Origin: optional, Query: "gs1"}, nil, "", false, false},
		"known from other masters": {Server{Origin: Federated}, a2s, "", false, true},
	} {
		var rep Report
		fillRules(NewRegistry(Limits{}), &rep, tt.rules...)
		if err := rep.Into(&tt.server); err != nil {
			t.Fatal(err)
		}
		if s := &tt.server; s.QueryProtocol() != tt.query || s.SpeaksGameSpy() != tt.gamespy || s.SpeaksA2S() != tt.a2s {
			t.Errorf("a server %s: %q, GameSpy %v, A2S %v", name, s.QueryProtocol(), s.SpeaksGameSpy(), s.SpeaksA2S())
		}
	}
}
