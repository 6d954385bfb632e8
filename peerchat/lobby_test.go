package peerchat

import (
	"testing"
	"testing/synctest"

	"github.com/respawnd/respawnd/storage"
)

// moderate makes a profile a moderator, or a plain member again.
func (f *fixture) moderate(id storage.ProfileID, channel string, on bool) {
	f.t.Helper()
	key := storage.ChatRuleKey{Kind: storage.ChatModerator, Channel: channel, Profile: id}
	err := f.rules.Put(f.t.Context(), storage.ChatRule{ChatRuleKey: key})
	if !on {
		err = f.rules.Remove(f.t.Context(), key)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// Title rooms and group rooms belong to the service: their first member is a plain one.
func TestServiceRooms(t *testing.T) {
	for _, room := range []string{"#GSP!gmtest", "#GPG!12"} {
		t.Run(room, func(t *testing.T) {
			f := start(t, nil)
			ann, bob := f.signOn("Ann"), f.signOn("Bob")
			ann.expect("JOIN "+room, ann.own()+" JOIN :"+room, ":s 353 Ann = "+room+" :Ann", ":s 366 Ann "+room+" :End of /NAMES list.")
			for _, line := range []string{
				"MODE " + room + " +m", "MODE " + room + " +b *!*@*", "MODE " + room + " +k pw", "MODE " + room + " +o Ann",
				"MODE " + room + " -i+p-s-m+n+t+l+e 8", "TOPIC " + room + " :mine", "KICK " + room + " Ann :out", "SETGROUP " + room + " x",
			} {
				ann.expect(line, ":s 482 Ann "+room+" :You're not channel operator")
			}
			ann.expect("SETCHANKEY " + room + ` :\b_x\1`)
			ann.expect("MODE "+room, ":s 324 Ann "+room+" +nt")
			bob.join(room)
			ann.want(bob.masked() + " JOIN :" + room)

			// What games do in these rooms.
			ann.expect("SETCKEY "+room+` Ann :\b_flags\s`, ":s 702 Ann "+room+` Ann BCAST :\b_flags\s`)
			bob.want(":s 702 Bob " + room + ` Ann BCAST :\b_flags\s`)
			ann.expect("PRIVMSG " + room + " :hello")
			bob.want(ann.masked() + " PRIVMSG " + room + " :hello")
		})
	}
}

// Moderators kick and ban in the rooms of the service. They do not change its modes and make no
// others operators, and lose the rank as soon as the rule ends.
func TestModeratorsOfServiceRooms(t *testing.T) {
	const room = "#GSP!gmtest"
	f := start(t, nil)
	ann := f.register("Ann", testNamespace)
	f.moderate(ann.ID, "", true)
	c, bob := f.logIn(ann), f.signOn("Bob")
	bob.join(room)
	c.expect("JOIN "+room, c.own()+" JOIN :"+room, ":s 353 Ann-gs = "+room+" :Bob @Ann-gs", ":s 366 Ann-gs "+room+" :End of /NAMES list.")
	bob.want(c.masked()+" JOIN :"+room, ":s MODE "+room+" +o Ann-gs")
	for _, change := range []string{"+m", "-n", "+k pw", "+l 1", "+o Bob", "-o Ann-gs", "+v Bob"} {
		c.expect("MODE "+room+" "+change, ":s 482 Ann-gs "+room+" :The modes of this room are fixed")
	}
	c.expect("MODE "+room+" +mb bob!*@*", ":s 482 Ann-gs "+room+" :The modes of this room are fixed", c.own()+" MODE "+room+" +b bob!*@*")
	bob.want(c.masked() + " MODE " + room + " +b bob!*@*")
	bob.expect("PRIVMSG "+room+" :x", ":s 404 Bob "+room+" :Cannot send to channel")
	c.expect("TOPIC "+room+" :Rules", c.own()+" TOPIC "+room+" :Rules")
	bob.want(c.masked() + " TOPIC " + room + " :Rules")
	c.expect("KICK "+room+" Bob :out", c.own()+" KICK "+room+" Bob :out")
	bob.want(c.masked() + " KICK " + room + " Bob :out")
	bob.expect("JOIN "+room, ":s 474 Bob "+room+" :Cannot join channel (+b)")

	f.moderate(ann.ID, "", false)
	c.want(":s MODE " + room + " -o Ann-gs")
	c.expect("MODE "+room+" -b bob!*@*", ":s 482 Ann-gs "+room+" :You're not channel operator")
}

// In a cluster the same holds on every node.
func TestServiceRoomsOfNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, "a", "b")
		room := n.channel("a", "#GPG!1")
		ann, bob := n.of["a"].signOn("Ann"), n.of["b"].signOn("Bob")
		bob.expect("JOIN "+room, bob.own()+" JOIN :"+room, ":s 353 Bob = "+room+" :Bob", ":s 366 Bob "+room+" :End of /NAMES list.")
		ann.join(room)
		bob.want(ann.masked() + " JOIN :" + room)
		bob.expect("MODE "+room+" +m", ":s 482 Bob "+room+" :You're not channel operator")
		bob.expect("MODE "+room, ":s 324 Bob "+room+" +nt")
		n.same()
		own := ann.masked()
		n.kill("a")
		bob.want(own + " QUIT :Connection reset")
		bob.expect("NAMES "+room, ":s 353 Bob = "+room+" :Bob", ":s 366 Bob "+room+" :End of /NAMES list.")
		bob.expect("MODE "+room, ":s 324 Bob "+room+" +nt")
	})
}

// Nicks that look like the service, or a program of it, are not free.
func TestServiceNicks(t *testing.T) {
	f := start(t, func(o *Options) { o.Games = quickGames(t) })
	ann := f.signOn("Ann")
	for _, nick := range []string{"ChanServ", "nickserv", "MEMOSERV", "OperServ", "BotServ", "HostServ", "Global", "Server", "s", "Bot", "QMBot", "Server-Administrator"} {
		ann.expect("NICK "+nick, ":s 433 Ann "+nick+" :Nickname is already in use")
		c := f.connect()
		c.send("USER x 127.0.0.1 peerchat.gamespy.com :x", "NICK "+nick)
		c.want(":s 433 * " + nick + " :Nickname is already in use")
	}
	ann.expect("NICK Servers", ann.own()+" NICK :Servers")
}

// A ban of a nick is for the client that has it, also when it has another one later.
func TestBanSurvivesNick(t *testing.T) {
	f := start(t, nil)
	op, plain, outside := f.room("#room")
	op.ask("MODE #room +b plain!*@*", "MODE #room +b outside!*@*")
	plain.want(op.masked()+" MODE #room +b plain!*@*", op.masked()+" MODE #room +b outside!*@*")
	plain.expect("NICK Other", plain.own()+" NICK :Other")
	plain.nick = "Other"
	plain.expect("PRIVMSG #room :x", ":s 404 Other #room :Cannot send to channel")
	op.ask("KICK #room Other :out")
	plain.want(op.masked() + " KICK #room Other :out")
	plain.expect("JOIN #room", ":s 474 Other #room :Cannot join channel (+b)")
	outside.ask("NICK New", "NICK Newer")
	outside.nick = "Newer"
	outside.expect("JOIN #room", ":s 474 Newer #room :Cannot join channel (+b)")
	f.signOn("Third").join("#room")
	op.ask("MODE #room -b plain!*@*")
	plain.join("#room")
}

// A client has only so many nicks in one session, so that all of them can be remembered. It may
// take those again that it had.
func TestManyNicks(t *testing.T) {
	f := start(t, nil)
	op, plain, _ := f.room("#room")
	op.ask("MODE #room +b plain!*@*")
	plain.line()
	for i := range 8 {
		nick := "Nick" + string(rune('a'+i))
		plain.expect("NICK "+nick, plain.own()+" NICK :"+nick)
		plain.nick = nick
	}
	plain.expect("NICK Last", ":s 433 "+plain.nick+" Last :You had too many nicks. Connect again to get another one")
	plain.expect("NICK NICKA", plain.own()+" NICK :NICKA")
	plain.nick = "NICKA"
	plain.expect("NICK Plain", plain.own()+" NICK :Plain")
	plain.nick = "Plain"
	plain.expect("PRIVMSG #room :x", ":s 404 Plain #room :Cannot send to channel")
}

// A node that joins a cluster learns the nicks that clients had.
func TestBanSurvivesNickOnNewNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, "a")
		op, bob := n.of["a"].signOn("Op"), n.of["a"].signOn("Bob")
		bob.ask("NICK Other")
		bob.nick = "Other"
		n.start("b")
		n.settle()
		room := n.channel("b", "#room")
		op.join(room)
		op.ask("MODE " + room + " +b bob!*@*")
		bob.expect("JOIN "+room, ":s 474 Other "+room+" :Cannot join channel (+b)")
		n.same()
	})
}
