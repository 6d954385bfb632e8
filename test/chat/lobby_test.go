package chat

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/respawnd/respawnd/master/serverbrowse"
	"github.com/respawnd/respawnd/peerchat"
	"github.com/respawnd/respawnd/qr2"
	"github.com/respawnd/respawnd/test/rig"
)

// lobbyTitle and lobbyGroup are rooms of the test's game. The operator adds the
// second one, number 9001.
const (
	lobbyTitle = "#GSP!" + rig.TestGame
	lobbyGroup = "#GPG!9001"
)

// roomFields are the fields that games ask for in a list of group rooms.
const roomFields = `\hostname\numwaiting\maxwaiting\numservers\numplayers`

// match is two players, the host and the guest of a match, with a daemon in its own
// process.
type match struct {
	t         *testing.T
	d         *rig.Running
	ann, ben  *rig.Chatter
	staging   string
	host      *rig.Host
	following *rig.Browser // Ben's, with updates
}

// TestLobby plays a game's requests from the availability check to the end of a match,
// over chat, reports and lists.
func TestLobby(t *testing.T) {
	t.Parallel()
	c := rig.StartChild(t, t.TempDir())
	l := &match{t: t, d: &c.Running}
	c.Cli("game", "room", "add", rig.TestGame, "Beginners", "--id", "9001", "--max", "50")
	if rig.NewUser(t.Context(), c.Address["gpsp"], "Ann") == "" {
		t.Fatal("no account")
	}
	l.signOn()
	l.enterRooms()
	l.createStagingRoom()
	l.joinStagingRoom()
	l.launch()
	l.MustLeave()
	c.Log.Check(t)
}

// signOn checks that the game is available and signs both players on: Ann with her
// account, Ben without one.
func (l *match) signOn() {
	l.t.Helper()
	checker := rig.NewHost(l.t, l.d.Address["qr2"])
	checker.Instance = 0
	checker.Raw(append([]byte{byte(qr2.KindAvailable), 0, 0, 0, 0}, rig.TestGame+"\x00"...))
	if kind, _ := checker.Read(); kind != qr2.KindAvailable {
		l.t.Errorf("answer to the availability check has kind %d, want %d", kind, qr2.KindAvailable)
	}
	l.ann, l.ben = chatGame(l.t, l.d, "*", "Ann"), chatGame(l.t, l.d, "Ben", "")
	if l.ann.Nick != "Ann-gs" || l.ben.Nick != "Ben" {
		l.t.Errorf("signed on as %q and %q, want Ann-gs and Ben", l.ann.Nick, l.ben.Nick)
	}
}

// group returns the values of the group room in the list of rooms, by field.
func (l *match) group() map[string]string {
	l.t.Helper()
	reply := rig.Browse(l.t, l.d).MustAsk(serverbrowse.SendGroups, "", roomFields)
	for _, e := range reply.Entries {
		if e.Public.Addr() != netip.AddrFrom4([4]byte{0, 0, 9001 >> 8, 9001 & 255}) {
			continue
		}
		row := make(map[string]string)
		for i, v := range e.Values {
			row[reply.Keys[i].Name] = v
		}
		return row
	}
	l.t.Fatalf("room 9001 is not in the list: %+v", reply)
	return nil
}

// enterRooms takes both players through the title room into the group room.
func (l *match) enterRooms() {
	l.t.Helper()
	l.ann.MustJoin(lobbyTitle, "Ann-gs")
	l.ann.MustSend("MODE " + lobbyTitle)
	l.ann.Hears("324", "Ann-gs", lobbyTitle, "+nt")
	l.ann.MustSend("MODE " + lobbyTitle + " +ik pw") // the first player must not lock out the others
	l.ann.Hears("482", "Ann-gs", lobbyTitle)
	l.ben.MustJoin(lobbyTitle, "Ann-gs", "Ben")
	l.ann.HearsFrom(l.ben, "JOIN", lobbyTitle)
	l.ben.Must(l.ben.SendText(`\username\b_flags`, "GETCKEY", lobbyTitle, "*", "007", "0"))
	users := map[string]string{}
	for range 2 {
		r := l.ben.Hears("702", "Ben", lobbyTitle)
		users[r.Param(2)] = r.Param(4)
	}
	l.ben.Hears("703", "Ben", lobbyTitle, "007")
	if want := map[string]string{"Ann-gs": `\X1lsaFvqsX|1\`, "Ben": `\X1lsaFvqsX|0\`}; !maps.Equal(users, want) {
		l.t.Errorf("members of the title room are %q, want %q", users, want)
	}

	want := map[string]string{"hostname": "Beginners", "numwaiting": "0", "maxwaiting": "50", "numservers": "0", "numplayers": "0"}
	if diff := cmp.Diff(want, l.group()); diff != "" {
		l.t.Errorf("group room before anyone is in it (-want +got):\n%s", diff)
	}
	l.ann.MustJoin(lobbyGroup, "Ann-gs")
	l.ben.MustJoin(lobbyGroup, "Ann-gs", "Ben")
	rig.Eventually(l.t, "the count of two waiting players", func() bool { return l.group()["numwaiting"] == "2" })
}

// createStagingRoom lets Ann bind her server's port, create its room, and report
// it, while Ben follows the list of the group room.
func (l *match) createStagingRoom() {
	l.t.Helper()
	rig.Register(l.t, l.d, "hostname", "Elsewhere", "numplayers", "3")
	l.following = rig.Browse(l.t, l.d)
	if r := l.following.MustAsk(serverbrowse.PushUpdates, "groupid=9001", `\hostname\gamemode\numplayers`); len(r.Entries) != 0 {
		l.t.Errorf("servers of the group room before there is one: %+v", r.Entries)
	}

	l.host = rig.NewHost(l.t, l.d.Address["qr2"])
	l.host.Private = netip.AddrPortFrom(netip.MustParseAddr("192.168.1.20"), l.host.Address().Port())
	l.staging = stagingName(l.ann, l.host.Private)
	ann, room := l.ann, l.staging
	ann.MustJoin(room, "@Ann-gs")
	ann.MustSend("MODE " + room)
	ann.Hears("324", "Ann-gs", room)
	l.host.OwnRules = []string{
		"hostname", "Ann's arena", "gamemode", "openstaging", "numplayers", "1", "maxplayers", "8", "password", "0", "groupid", "9001",
	}
	l.host.OwnPlayers = []string{"Ann-gs"}
	l.host.MustRegister()
	ann.Must(ann.SetMemberKeys(room, "Ann-gs", "b_flags", "sh"))
	ann.Hears("702", "Ann-gs", room, "Ann-gs", "BCAST", `\b_flags\sh`)
	ann.Must(ann.SetTopic(room, "Ann's arena"))
	ann.HearsFrom(ann, "TOPIC", room, "Ann's arena")
	ann.MustSend("MODE " + room + " +l 8")
	ann.HearsFrom(ann, "MODE", room, "+l", "8")
	ann.MustSend("MODE " + room + " -i+p-s-m+n+t+l+e 8")
	ann.HearsFrom(ann, "MODE", room)
	ann.MustSend("MODE " + room)
	if modes := ann.Hears("324", "Ann-gs", room); modes.Param(2) != "+pntle" || modes.Param(3) != "8" {
		l.t.Errorf("modes of the staging room: %v, want +pntle 8", modes)
	}

	if p := l.following.MustNextOf(serverbrowse.PushServer); p.Entry.Public != l.host.Address() || p.Entry.Values[1] != "openstaging" {
		l.t.Errorf("update of the list: %+v, want the staging server %v", p.Entry, l.host.Address())
	}
	got := l.group()
	if want := map[string]string{"hostname": "Beginners", "numwaiting": "2", "maxwaiting": "50", "numservers": "1", "numplayers": "1"}; !maps.Equal(got, want) {
		l.t.Errorf("group room with a server: %v, want %v", got, want)
	}
	for filter, want := range map[string]string{
		"groupid=9001":                       "Ann's arena",
		"(groupid=9001) AND (numplayers>=0)": "Ann's arena",
		"groupid is null":                    "Elsewhere",
		"(groupid=9001) AND (numplayers>1)":  "",
	} {
		names := ""
		for _, row := range rig.List(l.t, l.d, filter, `\hostname`) {
			names += row["hostname"]
		}
		if names != want {
			l.t.Errorf("filter %s lists %q, want %q", filter, names, want)
		}
	}
}

// joinStagingRoom lets Ben compute the name of the room from his list and join.
func (l *match) joinStagingRoom() {
	l.t.Helper()
	reply := rig.Browse(l.t, l.d).MustAsk(0, "groupid=9001", `\hostname`)
	if len(reply.Entries) != 1 {
		l.t.Fatalf("list of the group room: %+v", reply.Entries)
	}
	room := computedName(reply.Entries[0])
	if room != l.staging {
		l.t.Fatalf("the list makes the staging room %s, its host %s", room, l.staging)
	}
	if j := l.ben.MustJoin(room, "@Ann-gs", "Ben"); j.Topic != "Ann's arena" {
		l.t.Errorf("the topic of the staging room is %q", j.Topic)
	}
	l.ann.HearsFrom(l.ben, "JOIN", room)
	flags, err := l.ben.MemberKeys(rig.Wait(l.t), room, "Ann-gs", "b_flags")
	if l.ben.Must(err); !slices.Equal(flags, []string{"sh"}) {
		l.t.Errorf("flags of the host %q, want sh", flags)
	}
}

// computedName returns the name of a staging room as a joining player computes it
// from the server's entry in the list.
func computedName(e serverbrowse.Entry) string {
	private := e.Local
	if private.Port() == 0 {
		private = netip.AddrPortFrom(private.Addr(), e.Public.Port())
	}
	return peerchat.StagingName(rig.TestGame, e.Public.Addr(), private.Addr(), private.Port())
}

// launch lets both get ready and Ann start the match.
func (l *match) launch() {
	l.t.Helper()
	ann, ben, room := l.ann, l.ben, l.staging
	ben.Must(ben.SetMemberKeys(room, "Ben", "b_flags", "sr"))
	for _, x := range []*rig.Chatter{ann, ben} {
		x.Hears("702", x.Nick, room, "Ben", "BCAST", `\b_flags\sr`)
	}
	for _, text := range []string{`@@@NFO \$flags$\rX\`, "good luck"} {
		ben.Must(ben.Say(room, text))
		ann.HearsFrom(ben, "PRIVMSG", room, text)
	}
	ping := "PNG X1lsaFvqsX " + strconv.Itoa(40)
	ben.Must(ben.Tell(room, ping))
	ann.HearsFrom(ben, "UTM", room, ping)
	ann.Must(ann.SetMemberKeys(room, "Ann-gs", "b_flags", "shrg"))
	ben.Hears("702", "Ben", room, "Ann-gs", "BCAST", `\b_flags\shrg`)
	ann.Must(ann.Tell(room, "GML 192.168.1.20"))
	ben.HearsFrom(ann, "UTM", room, "GML 192.168.1.20")
	ann.Must(ann.Say(room, "@@@GML 127.0.0.1/OLD"))
	ben.HearsFrom(ann, "PRIVMSG", room, "@@@GML 127.0.0.1/OLD")

	l.host.OwnRules[3], l.host.OwnRules[5] = "closedplaying", "2"
	l.host.MustHeartbeat(qr2.StateChanged)
	for {
		p := l.following.MustNextOf(serverbrowse.PushServer)
		if v := p.Entry.Values; v[1] == "closedplaying" && v[2] == "2" {
			break
		}
	}
}

// MustLeave lets the players leave the rooms, and Ann's server the list.
func (l *match) MustLeave() {
	l.t.Helper()
	l.ben.Must(l.ben.Part(l.staging, "bye"))
	l.ben.HearsFrom(l.ben, "PART", l.staging)
	l.ann.HearsFrom(l.ben, "PART", l.staging, "bye")
	l.ann.Must(l.ann.Quit("Later!"))
	l.ben.HearsFrom(l.ann, "QUIT", "Later!")
	l.ann.WantClosed()
	l.host.Must(l.host.Leave())
	if p := l.following.MustNextOf(serverbrowse.PushDelete); p.Address != l.host.Address() {
		l.t.Errorf("the list loses %v, want %v", p.Address, l.host.Address())
	}
	l.ben.MustJoin(l.staging, "@Ben") // the room is new: its first member is its operator
	rig.Eventually(l.t, "the count of one waiting player", func() bool {
		got := l.group()
		return got["numwaiting"] == "1" && got["numservers"] == "0"
	})
}

// Players elsewhere compute the same name as the host from the address that is
// advertised in place of the host's own.
func TestStagingRoomOfAdvertisedAddress(t *testing.T) {
	t.Parallel()
	d := rig.Start(t, t.TempDir(), rig.Variable("net.advertise_as", rig.Adverted))
	ann := rig.Chat(t, d, "Ann")
	if ann.Address != netip.MustParseAddr(rig.Adverted) {
		t.Errorf("the host is given the address %v, want %v", ann.Address, rig.Adverted)
	}
	h := rig.NewHost(t, d.Address["qr2"], "hostname", "Arena")
	h.Private = netip.AddrPortFrom(netip.MustParseAddr("192.168.1.20"), h.Address().Port())
	h.MustRegister()
	r := rig.Browse(t, d).AskAs(rig.Outsider)
	rig.WantOnly(t, "an outsider", r, netip.AddrPortFrom(ann.Address, h.Address().Port()))
	if got, want := computedName(r.Entries[0]), stagingName(ann, h.Private); got != want {
		t.Errorf("the list makes the staging room %s, its host %s", got, want)
	}
	d.Stop()
}
