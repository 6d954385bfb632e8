package fesl

import (
	"strconv"
	"strings"

	"github.com/respawnd/respawnd/fesl/lobby"
	"github.com/respawnd/respawnd/fesl/wire"
)

// Bounds of a search for games.
const (
	maxConditions = 32
	maxFound      = 100
)

// playNow is what begins the properties of a player who searches.
const playNow = "players.0.props."

// conditions returns what the games of a search must have. The name of each comes in one line, its value
// in another: {filterToGame-x}=U-Mode and {filter-x}=coop.
func conditions(t wire.Text) (list []lobby.Condition) {
	for _, f := range t {
		x, ok := strings.CutPrefix(f.Key, playNow+"{filterToGame-")
		value := t.Get(playNow + "{filter-" + x)
		if ok && value != "" && len(list) < maxConditions {
			list = append(list, lobby.Condition{Key: "B-" + f.Value, Value: value})
		}
	}
	return list
}

// searchGames finds games that the player can join. They come in a message of the server, behind the
// answer.
func searchGames(x *session, r *request, answer *wire.Text) error {
	x.searches++
	found := x.server.opt.Lobby.Search(x.title.client, conditions(r.Text), maxFound)
	part := "/" + x.domain + "/" + x.title.subDomain
	id := strconv.Itoa(x.searches)
	answer.Add("id.id", id)
	answer.Add("id.partition", part)
	result := x.title.nothing
	switch {
	case len(found) == 0 && result == "":
		result = "NOSERVER"
	case len(found) == 0:
	case r.Get(playNow+"{sessionType}") == "listServers":
		result = "LIST"
	default:
		result = "JOIN"
	}
	const props, list = "props.", "props.{games}"
	t := wire.Text{
		{Key: "TXN", Value: "Status"},
		{Key: "id.id", Value: id},
		{Key: "id.partition", Value: part},
		{Key: "sessionState", Value: "COMPLETE"},
		{Key: props + "{}", Value: "3"},
		{Key: props + "{resultType}", Value: result},
		{Key: props + "{avgFit}", Value: "1.0"},
	}
	t.AddNumber(list+".[]", int64(len(found)))
	for i, g := range found {
		entry := wire.Member(list, i)
		t.Add(entry+".fit", "1001")
		t.AddNumber(entry+".gid", int64(g.Game))
		t.AddNumber(entry+".lid", int64(g.Lobby))
	}
	x.after = &t
	return nil
}
