package games

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAvailability(t *testing.T) {
	secret := []string{"HA6zkS"}
	tests := map[string]struct {
		game   Game
		strict bool
		want   uint32
	}{
		"ordinary game":                          {Game{Secrets: secret}, true, 0},
		"record says gone":                       {Game{Secrets: secret, DisabledServices: Gone}, false, Gone},
		"maintenance":                            {Game{Secrets: secret, Maintenance: true}, false, TemporarilyDown},
		"maintenance keeps gone":                 {Game{Secrets: secret, Maintenance: true, DisabledServices: Gone}, false, Gone | TemporarilyDown},
		"no secret, lenient":                     {Game{}, false, 0},
		"no secret, strict":                      {Game{}, true, Gone},
		"no secret, policy overrules strict":     {Game{Policy: Policy{StrictAvailability: Off}}, true, 0},
		"no secret, policy overrules lenient":    {Game{Policy: Policy{StrictAvailability: On}}, false, Gone},
		"other bits of the record are passed on": {Game{Secrets: secret, DisabledServices: 0xF0}, true, 0xF0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.game.Availability(tc.strict); got != tc.want {
				t.Errorf("Availability(%v) of %+v = %#x, want %#x", tc.strict, tc.game, got, tc.want)
			}
		})
	}
}

func TestSwitchFallsBackToGeneralSetting(t *testing.T) {
	for _, tc := range []struct {
		s             Switch
		general, want bool
	}{
		{Inherit, true, true},
		{Inherit, false, false},
		{Off, true, false},
		{Off, false, false},
		{On, true, true},
		{On, false, true},
	} {
		if got := tc.s.Or(tc.general); got != tc.want {
			t.Errorf("%v.Or(%v) = %v, want %v", tc.s, tc.general, got, tc.want)
		}
	}
}

func TestSecretAndFlags(t *testing.T) {
	var none Game
	if none.Usable() || none.Secret() != "" || none.QueryChallenge() {
		t.Errorf("zero game: Usable %v, Secret %q, QueryChallenge %v", none.Usable(), none.Secret(), none.QueryChallenge())
	}
	g := Game{Secrets: []string{"first1", "second"}, BackendFlags: 0x81}
	if !g.Usable() || g.Secret() != "first1" || !g.QueryChallenge() {
		t.Errorf("%+v: Usable %v, Secret %q, QueryChallenge %v", g, g.Usable(), g.Secret(), g.QueryChallenge())
	}
}

func TestValidName(t *testing.T) {
	tests := map[string]bool{
		"gmtest": true, "dow_dc": true, "_assets": true, "4x4evo": true, "a": true, "a-b": true, "a-": true,
		strings.Repeat("a", MaxNameLen):   true,
		strings.Repeat("a", MaxNameLen+1): false,
		"":                                false, "GMTEST": false, "a b": false, "a.b": false, "-a": false, "a\nb": false,
		"a\\b": false, "a\x00": false, "é": false, "a/b": false, "a#": false,
	}
	for name, want := range tests {
		if got := ValidName(name); got != want {
			t.Errorf("ValidName(%q) = %v, want %v", name, got, want)
		}
	}
}

// TestLimitsAtTheirEdge checks each limit of a record with the last value that is
// accepted and the first that is not.
func TestLimitsAtTheirEdge(t *testing.T) {
	room := func(change func(*Room)) Game {
		r := Room{ID: 1, Name: "Lobby"}
		change(&r)
		return Game{Name: "x", Rooms: []Room{r}}
	}
	secrets := func(n int) []string { return many(n, func(i int) string { return fmt.Sprintf("s%05d", i) }) }
	fields := func(n int) []Field { return many(n, func(i int) Field { return Field{Key: fmt.Sprint("k", i)} }) }
	tests := map[string]struct{ good, bad Game }{
		"title":          {Game{Name: "x", Title: strings.Repeat("t", MaxTextLen)}, Game{Name: "x", Title: strings.Repeat("t", MaxTextLen+1)}},
		"shortest key":   {Game{Name: "x", Secrets: []string{strings.Repeat("s", MinSecretLen)}}, Game{Name: "x", Secrets: []string{strings.Repeat("s", MinSecretLen-1)}}},
		"longest key":    {Game{Name: "x", Secrets: []string{strings.Repeat("s", MaxSecretLen)}}, Game{Name: "x", Secrets: []string{strings.Repeat("s", MaxSecretLen+1)}}},
		"number of keys": {Game{Name: "x", Secrets: secrets(MaxSecrets)}, Game{Name: "x", Secrets: secrets(MaxSecrets + 1)}},
		"lowest id":      {Game{Name: "x", ID: 0}, Game{Name: "x", ID: -1}},
		"highest id":     {Game{Name: "x", ID: maxID}, Game{Name: "x", ID: maxID + 1}},
		"switch":         {Game{Name: "x", Policy: Policy{NoSecure: On}}, Game{Name: "x", Policy: Policy{NoSecure: On + 1}}},
		"rooms":          {Game{Name: "x", Rooms: manyRooms(MaxRooms)}, Game{Name: "x", Rooms: manyRooms(MaxRooms + 1)}},
		"boards":         {boards(maxBoards, nil), boards(maxBoards+1, nil)},
		"board name":     {boards(1, func(b *Board) { b.Name = strings.Repeat("b", MaxNameLen) }), boards(1, func(b *Board) { b.Name = strings.Repeat("b", MaxNameLen+1) })},
		"board title":    {boards(1, func(b *Board) { b.Title = strings.Repeat("b", MaxTextLen) }), boards(1, func(b *Board) { b.Title = strings.Repeat("b", MaxTextLen+1) })},
		"board key":      {boards(1, func(b *Board) { b.Key = strings.Repeat("b", maxBoardKeyLen) }), boards(1, func(b *Board) { b.Key = strings.Repeat("b", maxBoardKeyLen+1) })},
		"lowest room":    {room(func(r *Room) { r.ID = 1 }), room(func(r *Room) { r.ID = 0 })},
		"highest room":   {room(func(r *Room) { r.ID = 0xFFFFFFFE }), room(func(r *Room) { r.ID = 0xFFFFFFFF })},
		"room name":      {room(func(r *Room) { r.Name = strings.Repeat("r", MaxTextLen) }), room(func(r *Room) { r.Name = strings.Repeat("r", MaxTextLen+1) })},
		"room capacity":  {room(func(r *Room) { r.MaxWaiting = maxRoomCapacity }), room(func(r *Room) { r.MaxWaiting = maxRoomCapacity + 1 })},
		"room fields":    {room(func(r *Room) { r.Fields = fields(maxRoomFields) }), room(func(r *Room) { r.Fields = fields(maxRoomFields + 1) })},
		"field key":      {room(func(r *Room) { r.Fields = []Field{{Key: strings.Repeat("k", maxFieldKeyLen)}} }), room(func(r *Room) { r.Fields = []Field{{Key: strings.Repeat("k", maxFieldKeyLen+1)}} })},
		"field value":    {room(func(r *Room) { r.Fields = []Field{{"k", strings.Repeat("v", MaxTextLen)}} }), room(func(r *Room) { r.Fields = []Field{{"k", strings.Repeat("v", MaxTextLen+1)}} })},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var p problems
			if !tc.good.check(&p) {
				t.Errorf("check of the last good value: %v", p.err())
			}
			p = problems{}
			if tc.bad.check(&p) || p.total != 1 {
				t.Errorf("check of the first bad value: %d problems %v, want 1", p.total, p.list)
			}
		})
	}
}

func TestBadContentIsRefused(t *testing.T) {
	room := func(fields ...Field) Game {
		return Game{Name: "x", Rooms: []Room{{ID: 1, Name: "Lobby", Fields: fields}}}
	}
	tests := map[string]Game{
		"no name":                      {Title: "x"},
		"control character in title":   {Name: "x", Title: "a\nb"},
		"title not UTF-8":              {Name: "x", Title: "a\xff"},
		"space in secret":              {Name: "x", Secrets: []string{"abc ef"}},
		"secret not ASCII":             {Name: "x", Secrets: []string{"abcdé"}},
		"secret twice":                 {Name: "x", Secrets: []string{"abcdef", "abcdef"}},
		"room without name":            {Name: "x", Rooms: []Room{{ID: 1}}},
		"negative capacity":            {Name: "x", Rooms: []Room{{ID: 1, Name: "r", MaxWaiting: -1}}},
		"board without name":           boards(1, func(b *Board) { b.Name = "" }),
		"board twice":                  boards(2, func(b *Board) { b.Name = "same" }),
		"board without key":            boards(1, func(b *Board) { b.Key = "" }),
		"backslash in key of board":    boards(1, func(b *Board) { b.Key = `a\b` }),
		"board without rule":           boards(1, func(b *Board) { b.How = "" }),
		"field without key":            room(Field{"", "v"}),
		"field twice":                  room(Field{"a", "1"}, Field{"a", "2"}),
		"backslash in key":             room(Field{`a\b`, "1"}),
		"backslash in value":           room(Field{"a", `1\2`}),
		"NUL in value":                 room(Field{"a", "1\x00"}),
		"field twice, in other case":   room(Field{"a", "1"}, Field{"A", "2"}),
		"field that the list fills in": room(Field{"numwaiting", "1"}),
		"the same in other case":       room(Field{"NumWaiting", "1"}),
		"field that is the id":         room(Field{"groupid", "1"}),
	}
	for name, g := range tests {
		t.Run(name, func(t *testing.T) {
			var p problems
			if g.check(&p) || p.total != 1 {
				t.Errorf("check: %d problems %v, want 1", p.total, p.list)
			}
		})
	}
}

func TestProblemsNeverShowSecrets(t *testing.T) {
	g := Game{Name: "x", Secrets: []string{"hush", "keep quiet", "abcdef", "abcdef"}}
	var p problems
	g.check(&p)
	text := p.err().Error()
	for _, s := range g.Secrets {
		if strings.Contains(text, s) {
			t.Errorf("the error shows a secret: %s", text)
		}
	}
}

func TestProblemsAreCountedBeyondTheLimit(t *testing.T) {
	var p problems
	for range MaxProblems + 3 {
		p.add(Source{File: "f", Line: 1}, strings.Repeat("n", 1000), "reason")
	}
	e, ok := errors.AsType[*InvalidError](p.err())
	if !ok {
		t.Fatalf("err() = %T, want an *InvalidError", p.err())
	}
	if len(e.Problems) != MaxProblems || e.Total != MaxProblems+3 {
		t.Errorf("%d problems of %d, want %d of %d", len(e.Problems), e.Total, MaxProblems, MaxProblems+3)
	}
	if !strings.HasSuffix(e.Error(), "\nand 3 more") {
		t.Errorf("Error() does not count the rest: %q", e.Error()[len(e.Error())-40:])
	}
	if got := len(e.Problems[0].Name); got > maxShownName+3 {
		t.Errorf("a name of %d bytes is shown", got)
	}
}

// boards returns a game with n boards, each with the change.
func boards(n int, change func(*Board)) Game {
	g := Game{Name: "x"}
	for i := range n {
		b := Board{Name: fmt.Sprint("b", i), Key: "k", How: BoardSum}
		if change != nil {
			change(&b)
		}
		g.Boards = append(g.Boards, b)
	}
	return g
}

func manyRooms(n int) []Room {
	rooms := make([]Room, n)
	for i := range rooms {
		rooms[i] = Room{ID: uint32(i + 1), Name: "r"}
	}
	return rooms
}
