package games

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddition(t *testing.T) {
	var secrets []string
	for i := range MaxSecrets {
		secrets = append(secrets, "secre"+string(rune('a'+i)))
	}
	c := newCatalog(t, []Game{
		{Name: "long", Title: "Long", ID: 5, Secrets: []string{"t9Fj3Mx"}},
		{Name: "same", Title: "Same", ID: 6, Secrets: []string{"abcdef"}, Rooms: []Room{{ID: 7, Name: "Lobby"}}, Facts: Facts{Keys: []Key{{Name: "b"}, {Name: "a", Type: 1}}}},
		{Name: "bare"},
		{Name: "full", Secrets: secrets, Title: "F", ID: 1},
		{Name: "room", Secrets: secrets[:MaxSecrets-1], Title: "R", ID: 2},
	})
	for name, tc := range map[string]struct {
		record Game
		want   Addition
	}{
		"longer secret": {
			Game{Name: "LONG", Title: "Other", ID: 99, Secrets: []string{"t9Fj3M"}},
			Addition{
				Record: Game{Name: "long", Secrets: []string{"t9Fj3Mx", "t9Fj3M"}}, Fields: []string{"secrets"},
				Differ: []Difference{{"title", "Long", "Other"}, {"id", "5", "99"}},
			},
		},
		"nothing new": {
			Game{Name: "same", Title: "Same", ID: 6, Secrets: []string{"abcdef"}, Facts: Facts{Keys: []Key{{Name: "a", Type: 1}, {Name: "b"}}}},
			Addition{Record: Game{Name: "same"}},
		},
		"other values": {
			Game{Name: "same", QueryPort: 1, Rooms: []Room{{ID: 7, Name: "Lobby"}, {ID: 8, Name: "Second"}}, Facts: Facts{Keys: []Key{{Name: "a"}}}, DisabledServices: Gone},
			Addition{Record: Game{Name: "same"}, Differ: []Difference{
				{"port", "6500", "1"}, {"disabled_services", "", "1"}, {"rooms", "1 room", "2 rooms"}, {"keys", "a:1 b", "a"},
			}},
		},
		"title and id": {
			Game{Name: "bare", Title: "Bare", ID: 4, Secrets: []string{"ghijkl"}},
			Addition{Record: Game{Name: "bare", Title: "Bare", ID: 4, Secrets: []string{"ghijkl"}}, Fields: []string{"title", "id", "secrets"}},
		},
		"new": {Game{Name: "new", Title: "New", QueryPort: 1}, Addition{Record: Game{Name: "new", Title: "New", QueryPort: 1}, New: true}},
		"no room for secrets": {
			Game{Name: "full", Secrets: []string{"abcdef"}},
			Addition{Record: Game{Name: "full"}, LeftOut: []string{"1 secret: a game has at most 16"}},
		},
		"room for one secret": {
			Game{Name: "room", Secrets: []string{"abcdef", "ghijkl"}},
			Addition{
				Record: Game{Name: "room", Secrets: append(append([]string{}, secrets[:MaxSecrets-1]...), "abcdef")}, Fields: []string{"secrets"},
				LeftOut: []string{"1 secret: a game has at most 16"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, c.Addition(tc.record)); diff != "" {
				t.Errorf("Addition (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	here := Game{Name: "x", Policy: Policy{NoSecure: On}, Maintenance: true, Secrets: []string{"abcdef"}, Facts: Facts{Hosts: []Host{{"a.example.org", "qr2"}}}}
	list := here.Differences(Game{
		Name: "x", Policy: Policy{A2S: On}, Given: FieldsOf("maintenance", "hosts"), Secrets: []string{"ghijkl"}, Title: string(make([]byte, 200)),
	})
	want := []Difference{
		{"title", "", string(make([]byte, maxShownValue)) + "..."},
		{"secrets", "1 secret", "1 secret"},
		{"maintenance", "true", ""},
		{"hosts", "a.example.org qr2", ""},
		{"policy", "{no_secure: on}", "{no_secure: on, a2s: on}"},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("Differences (-want +got):\n%s", diff)
	}
	if list := here.Differences(Game{Name: "x", Policy: Policy{NoSecure: On}}); list != nil {
		t.Errorf("differences of a record that states the same: %+v", list)
	}
}
