package storagetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/respawnd/respawnd/storage"
)

// Fill stores some records of every kind in an empty store, with gaps where records were
// deleted.
func Fill(t *testing.T, s storage.Store) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("fill the store: %v", err)
		}
	}
	ids := fillAccounts(t, s, must)
	one, other, third := ids[0], ids[1], ids[2]

	putGame(t, s, game("mygame"))
	putGame(t, s, game("othergame"))
	putRoom(t, s, room("mygame", "Lobby"))
	gone := putRoom(t, s, room("othergame", "Lobby"))
	must(s.DeleteRoom(t.Context(), gone.ID))
	addBan(t, s, ban("192.0.2.0/24", storage.ScopeAll))
	addBan(t, s, ban("2001:db8::/32", storage.ScopeLists))
	putChatRule(t, s, chatRule(storage.ChatBan, one, ""))
	putChatRule(t, s, chatRuleAt("198.51.100.0/24", "#gsp!mygame"))
	putProductKeys(t, s, productKey(1, "a"), productKey(2, "b"))
	putMotd(t, s, motd("mygame"))
	putPatch(t, s, patch(7, "1.0"))
	must(s.PutPost(t.Context(), "one", "7"))
	addServer(t, s, added("games.example.org:27015"))
	hideServer(t, s, hidden("192.0.2.7:6500"))

	f := createFile(t, s, file(one, "a", 5))
	createFile(t, s, file(one, "b", 0))
	must(s.AddDownloads(t.Context(), map[storage.FileID]int64{f.ID: 3}))
	must(s.DeleteFile(t.Context(), createFile(t, s, file(other, "a", 5)).ID))

	table := levels()
	first := makeSake(t, s, table, one, sakeFields()...)
	makeSake(t, s, table, other, sakeInt("Score", 7))
	makeSake(t, s, storage.SakeTableID{Game: "mygame", Name: "Other"}, one, sakeText("Note", "näive"))
	must(s.UpdateSakeRecord(t.Context(), table, first, one, []storage.SakeField{sakeText("Score", "now a text")}, storage.SakeLimits{}))
	for i, rater := range []storage.ProfileID{other, third} {
		_, err := s.RateSakeRecord(t.Context(), table, first, rater, 100+i)
		must(err)
	}
	must(s.DeleteSakeRecord(t.Context(), table, makeSake(t, s, table, one, sakeInt("Score", 9)), one))
	dead := storage.SakeTableID{Game: "mygame", Name: "Deleted"}
	makeSake(t, s, dead, one, sakeInt("Score", 1))
	_, err := s.DeleteSakeTable(t.Context(), dead)
	must(err)

	fillStatistics(t, s, ids, must)
	addAudit(t, s, entry("first"))
	player := entry("second")
	player.Via = storage.ViaPlayer
	addAudit(t, s, player)
	addAudit(t, s, entry("third"))
	save(t, s, []storage.Server{server(1), server(2), server(3)})
}

// fillAccounts makes accounts with relations, and returns three of their profiles.
func fillAccounts(t *testing.T, s storage.Store, must func(error)) (ids []storage.ProfileID) {
	t.Helper()
	for i, nick := range []string{"Alice", "Bob", "Carol"} {
		stored, first := createUser(t, s, user(fmt.Sprintf("fill%d@example.org", i)), profile(nick))
		second := profile(nick + "2")
		second.User = stored.ID
		createProfile(t, s, second)
		ids = append(ids, first.ID)
	}
	stored, _ := createUser(t, s, user("deleted@example.org"), profile("Deleted"))
	must(s.DeleteUser(t.Context(), stored.ID))
	one, other, third := ids[0], ids[1], ids[2]
	addBuddy(t, s, one, other)
	addBuddy(t, s, other, one)
	must(s.AddBlock(t.Context(), one, third))
	ask(t, s, third, other, moment())
	for i := range 3 {
		leave(t, s, other, storage.Message{From: one, Kind: storage.MessageText, Text: fmt.Sprint("message ", i), Sent: moment().Add(time.Duration(i) * time.Second)})
	}
	return ids
}

// fillStatistics stores blocks, scores, reports and matches.
func fillStatistics(t *testing.T, s storage.Store, ids []storage.ProfileID, must func(error)) {
	t.Helper()
	one, other := ids[0], ids[1]
	setBlock(t, s, blockID(one, 0), second(1), "block")
	setBlock(t, s, blockID(one, 5), second(2), "")
	putScore(t, s, scoreOf(one, 12.5))
	putScore(t, s, scoreOf(other, -3))
	for conn := range uint64(3) {
		r := report(conn+1, `\map\q3dm17`)
		_, err := s.PutReport(t.Context(), r, nil, storage.ReportLimits{})
		must(err)
	}
	r := report(9, `\map\gone`)
	result, err := s.PutReport(t.Context(), r, nil, storage.ReportLimits{})
	must(err)
	must(s.DeleteReport(t.Context(), result.ID))
	putMatch(t, s, match(one, other))
	m := match(other, one)
	m.Session = guid("b")
	m.Outcome = storage.MatchOpen
	putMatch(t, s, m)
	m.Session = guid("c")
	must(s.DeleteMatch(t.Context(), putMatch(t, s, m).ID))
}
