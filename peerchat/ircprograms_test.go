package peerchat

import (
	"strings"
	"testing"
	"testing/synctest"
)

// A player who writes to one who is away learns why there may be no answer. Messages between
// games are not answered.
func TestAway(t *testing.T) {
	f := start(t, nil)
	ann, bob := f.signOn("Ann"), f.signOn("Bob")
	bob.expect("AWAY :gone: to eat", ":s 306 Bob :You have been marked as being away")
	ann.expect("PRIVMSG bob :hi", ":s 301 Ann Bob :gone: to eat")
	ann.expect("UTM Bob :hi")
	ann.expect("ATM Bob :hi")
	ann.expect("NOTICE Bob :hi")
	bob.want(ann.masked()+" PRIVMSG Bob :hi", ann.masked()+" UTM Bob :hi", ann.masked()+" ATM Bob :hi", ann.masked()+" NOTICE Bob :hi")
	mask := bob.user().mask
	ann.expect("WHOIS Bob", ":s 311 Ann Bob Bob "+mask+" * :Real name", ":s 301 Ann Bob :gone: to eat", ":s 318 Ann Bob :End of WHOIS list")
	ann.expect("WHO Bob", ":s 352 Ann * Bob "+mask+" s Bob G :0 Real name", ":s 315 Ann Bob :End of WHO list")
	ann.expect("USERHOST Bob", ":s 302 Ann :Bob=-Bob@"+mask)
	bob.expect("AWAY :", ":s 305 Bob :You are no longer marked as being away")
	ann.expect("PRIVMSG Bob :hi")
	bob.want(ann.masked() + " PRIVMSG Bob :hi")
	ann.expect("USERHOST Bob", ":s 302 Ann :Bob=+Bob@"+mask)
	bob.ask("AWAY :" + strings.Repeat("x", maxAway+1))
	ann.expect("PRIVMSG Bob :hi", ":s 301 Ann Bob :"+strings.Repeat("x", maxAway))
}

// Every node of a cluster knows who is away, also one that came later.
func TestAwayOnNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNodes(t, "a", "b")
		ann, bob := n.of["a"].signOn("Ann"), n.of["b"].signOn("Bob")
		n.same()
		bob.ask("AWAY :brb")
		synctest.Wait()
		ann.expect("PRIVMSG Bob :hi", ":s 301 Ann Bob :brb")
		n.start("c")
		n.settle()
		cid := n.of["c"].signOn("Cid")
		cid.expect("PRIVMSG Bob :hi", ":s 301 Cid Bob :brb")
		bob.ask("AWAY")
		synctest.Wait()
		ann.expect("PRIVMSG Bob :hi")
		cid.expect("PRIVMSG Bob :hi")
	})
}

// A KICK without a comment has the nick of its author in place of it.
func TestKickComment(t *testing.T) {
	f := start(t, nil)
	op, plain, outside := f.room("#room")
	for sent, comment := range map[string]string{"": "Op", " :": "Op", " :bad manners": "bad manners"} {
		outside.join("#room")
		own := outside.own()
		op.want(own + " JOIN :#room")
		plain.line()
		op.expect("KICK #room Outside"+sent, op.own()+" KICK #room Outside :"+comment)
		outside.want(op.masked() + " KICK #room Outside :" + comment)
		plain.want(op.masked() + " KICK #room Outside :" + comment)
	}
	if n, err := f.server.Kick(t.Context(), target("#room", "Plain"), ""); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	plain.want(":s KICK #room Plain :Kicked by the operator")
}

// NAMES marks a secret channel.
func TestNamesOfSecretChannel(t *testing.T) {
	f := start(t, nil)
	op, plain, _ := f.room("#room")
	op.ask("MODE #room +s")
	plain.line()
	plain.expect("NAMES #room", ":s 353 Plain @ #room :@Op Plain", ":s 366 Plain #room :End of /NAMES list.")
	op.ask("MODE #room -s+p")
	plain.line()
	plain.expect("NAMES #room", ":s 353 Plain = #room :@Op Plain", ":s 366 Plain #room :End of /NAMES list.")
}

// Questions of IRC programs about the server are answered. OPER is refused: operators use
// commands of the daemon.
func TestServerQuestions(t *testing.T) {
	f := start(t, nil)
	ann, bob := f.signOn("Ann"), f.signOn("Bob")
	bob.join("#room")
	for line, want := range map[string][]string{
		"VERSION":      {":s 351 Ann respawnd s :"},
		"ADMIN":        {":s 423 Ann s :No administrative information is available"},
		"INFO":         {":s 371 Ann :Chat of a respawnd server", ":s 374 Ann :End of INFO list"},
		"LINKS":        {":s 364 Ann s s :0 respawnd", ":s 365 Ann * :End of LINKS list"},
		"OPER ann pw":  {":s 491 Ann :No operators sign in here"},
		"OPER ann":     {":s 461 Ann OPER :Not enough parameters"},
		"WHOWAS Ghost": {":s 406 Ann Ghost :There was no such nickname", ":s 369 Ann Ghost :End of WHOWAS"},
		"WHOWAS Bob 1": {":s 406 Ann Bob :There was no such nickname", ":s 369 Ann Bob :End of WHOWAS"},
		"WHOWAS":       {":s 461 Ann WHOWAS :Not enough parameters"},
		"LUSERS": {
			":s 251 Ann :There are 2 users and 0 invisible on 1 servers", ":s 254 Ann 1 :channels formed", ":s 255 Ann :I have 2 clients and 0 servers",
		},
	} {
		ann.expect(line, want...)
	}
	if got := ann.ask("TIME"); len(got) != 1 || !strings.HasPrefix(got[0], ":s 391 Ann s :") || !strings.HasSuffix(got[0], " UTC") {
		t.Errorf("TIME is answered with %q", got)
	}
	early := f.connect()
	early.send("VERSION")
	early.want(":s 451 * :You have not registered")
}
