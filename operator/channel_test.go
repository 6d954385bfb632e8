package operator

import "testing"

func TestParseChannel(t *testing.T) {
	for channel, want := range map[string]struct {
		kind  ChatRoomKind
		game  string
		group uint32
	}{
		TitleChannel("gmtest"): {ChatTitle, "gmtest", 0},
		GroupChannel(12):       {ChatGroup, "", 12},
		"#gpg!4294967295":      {ChatGroup, "", 4294967295},
		"#GPG!0":               {ChatOther, "", 0},
		"#GPG!x":               {ChatOther, "", 0},
		"#gsp!GMTest!Mabc":     {ChatStaging, "GMTest", 0},
		"#GSP!":                {ChatOther, "", 0},
		"#other":               {ChatOther, "", 0},
		"":                     {ChatOther, "", 0},
	} {
		if kind, game, group := ParseChannel(channel); kind != want.kind || game != want.game || group != want.group {
			t.Errorf("ParseChannel(%q) = %v, %q, %d; want %+v", channel, kind, game, group, want)
		}
	}
}
