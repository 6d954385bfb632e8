package utmaster

import "errors"

// Bounds of a game state.
const (
	maxClients   = 256
	maxRules     = 400
	maxPlayers   = 256
	maxNameText  = 256  // of the name, map, type of game and skill level, in bytes
	maxRuleText  = 1024 // of the name and value of a rule, of the name of a player
	maxMutators  = 64
	maxPopulated = 9999 // players and room for them
)

// Pair is a rule of a game server. The name "mutator" may occur several times.
type Pair struct{ Name, Value string }

// Player is a player of a game server.
type Player struct {
	ID, Extra    int32 // Extra: of Unreal 2 XMP alone
	Name         string
	Ping, Score  int32
	StatisticsID int32
}

// State is the heartbeat of a game server.
//
//	clients     array of texts, host:port
//	int32       always 0
//	text        always empty
//	int32       game port
//	int32       always 0
//	texts       name, map, type of game
//	int32       players, maximum, ping
//	from version modern on: int32 flags, text skill level
//	rules       array of two texts
//	players     array of: int32 id (of Unreal 2 XMP another int32), text name, int32
//	            ping, score and id for statistics
type State struct {
	Clients             []string
	Port                int32
	Name, Map, GameType string
	Players, Max, Ping  int32
	Flags               int32
	Skill               string
	Rules               []Pair
	List                []Player
}

// AppendTo appends the message of a game server of a version.
func (s *State) AppendTo(dst []byte, version int32) []byte {
	return frame(dst, func(b []byte) []byte {
		b = appendIndex(append(b, sayState), int32(len(s.Clients)))
		for _, c := range s.Clients {
			b = appendText(b, c)
		}
		b = appendText(appendInt32(b, 0), "")
		b = appendInt32(appendInt32(b, s.Port), 0)
		b = appendText(appendText(appendText(b, s.Name), s.Map), s.GameType)
		b = appendInt32(appendInt32(appendInt32(b, s.Players), s.Max), s.Ping)
		if version >= modern {
			b = appendText(appendInt32(b, s.Flags), s.Skill)
		}
		b = appendIndex(b, int32(len(s.Rules)))
		for _, r := range s.Rules {
			b = appendText(appendText(b, r.Name), r.Value)
		}
		b = appendIndex(b, int32(len(s.List)))
		for _, p := range s.List {
			b = appendInt32(b, p.ID)
			if version == versionXMP {
				b = appendInt32(b, p.Extra)
			}
			b = appendInt32(appendInt32(appendInt32(appendText(b, p.Name), p.Ping), p.Score), p.StatisticsID)
		}
		return b
	})
}

// parseState reads the message behind its first byte. The list of players may be cut
// off: those that are whole are returned.
func parseState(p []byte, version int32) (s State, err error) {
	c := cursor{b: p}
	for range c.count(maxClients, 1) {
		s.Clients = append(s.Clients, c.short(maxRuleText))
	}
	_, _ = c.int32(), c.text()
	s.Port = c.int32()
	_ = c.int32()
	s.Name, s.Map, s.GameType = c.short(maxNameText), c.short(maxNameText), c.short(maxNameText)
	s.Players, s.Max, s.Ping = c.int32(), c.int32(), c.int32()
	if version >= modern {
		s.Flags, s.Skill = c.int32(), c.short(maxNameText)
	}
	for range c.count(maxRules, 2) {
		s.Rules = append(s.Rules, Pair{c.short(maxRuleText), c.short(maxRuleText)})
	}
	if c.err != nil {
		return State{}, c.err
	}
	s.List, err = c.players(version)
	return s, err
}

// short reads a text of at most some bytes.
func (c *cursor) short(most int) string {
	s := c.text()
	if len(s) > most {
		c.fail(ErrTooMany)
		return ""
	}
	return s
}

// players reads a list of players, which may be cut off.
func (c *cursor) players(version int32) (list []Player, err error) {
	n := c.index()
	switch {
	case errors.Is(c.err, ErrCut):
		return nil, nil // it is missing
	case c.err != nil:
		return nil, c.err
	case n < 0 || n > maxPlayers:
		return nil, ErrTooMany
	}
	for range n {
		q := Player{ID: c.int32()}
		if version == versionXMP {
			q.Extra = c.int32()
		}
		q.Name = c.short(maxRuleText)
		q.Ping, q.Score, q.StatisticsID = c.int32(), c.int32(), c.int32()
		switch {
		case errors.Is(c.err, ErrCut):
			return list, nil
		case c.err != nil:
			return nil, c.err
		}
		list = append(list, q)
	}
	return list, nil
}
