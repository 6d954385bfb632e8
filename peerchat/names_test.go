package peerchat

import (
	"strings"
	"testing"

	"github.com/respawnd/respawnd/internal/ascii"
)

func TestValidNick(t *testing.T) {
	for nick, want := range map[string]bool{
		"a": true, "SdkNick": true, "`{|}~": true, "a@b#c+d:e": true, "\"$%&'()*,-./;<": true, "=>?[]^_": true, "**": true, "1": true,
		strings.Repeat("n", maxChosenNick): true, strings.Repeat("n", maxChosenNick+1): false,
		"": false, "*": false, "@a": false, "#a": false, "+a": false, ":a": false, "a b": false, `a\b`: false, "a!b": false,
		"a\x01": false, "a\x7f": false, "\xe4": false, "a\x00": false,
	} {
		if got := validNick(nick); got != want {
			t.Errorf("validNick(%q) = %v", nick, got)
		}
	}
}

func TestValidChannel(t *testing.T) {
	for name, want := range map[string]bool{
		"#a": true, "#GSP!gmtest!MqNKN001KM": true, "#GPG!12": true, "##": true, "#\xe4\u20ac": true, "#a\\b:c": true,
		"#" + strings.Repeat("c", 255): true, "#" + strings.Repeat("c", 256): false,
		"": false, "#": false, "a": false, "#a b": false, "#a,#b": false, "#a\x07": false, "#a\x7f": false, "&a": false,
	} {
		if got := validChannel(name); got != want {
			t.Errorf("validChannel(%q) = %v", name, got)
		}
	}
}

func TestKindOf(t *testing.T) {
	for name, want := range map[string]struct {
		kind channelKind
		fold string
	}{
		"#GSP!GmTest":              {channelKind{room: roomTitle, game: "gmtest"}, "#gsp!gmtest"},
		"#gsp!gmtest":              {channelKind{room: roomTitle, game: "gmtest"}, "#gsp!gmtest"},
		"#GPG!12":                  {channelKind{room: roomGroup, group: 12}, "#gpg!12"},
		"#gPg!4294967295":          {channelKind{room: roomGroup, group: 4294967295}, "#gpg!4294967295"},
		"#GSP!GmTest!MqNKN001KM":   {channelKind{room: roomStaging, game: "gmtest"}, "#gsp!gmtest!MqNKN001KM"},
		"#GSP!gmtestam!XsGpFFva1X": {channelKind{room: roomStaging, game: "gmtestam"}, "#gsp!gmtestam!XsGpFFva1X"},
		"#gsp!gmtest!A!B":          {channelKind{room: roomStaging, game: "gmtest"}, "#gsp!gmtest!A!B"},
		"#GSP!gmtest!":             {channelKind{}, "#gsp!gmtest!"},
		"#GSP!!Xa":                 {channelKind{}, "#gsp!!xa"},
		"#GSP!":                    {channelKind{}, "#gsp!"},
		"#GPG!":                    {channelKind{}, "#gpg!"},
		"#GPG!0":                   {channelKind{}, "#gpg!0"},
		"#GPG!012":                 {channelKind{}, "#gpg!012"},
		"#GPG!+1":                  {channelKind{}, "#gpg!+1"},
		"#GPG!4294967296":          {channelKind{}, "#gpg!4294967296"},
		"#GPG!12!X":                {channelKind{}, "#gpg!12!x"},
		"#Chat":                    {channelKind{}, "#chat"},
		"#a!B!C":                   {channelKind{}, "#a!b!c"},
		"#\xc4\xd6":                {channelKind{}, "#\xc4\xd6"},
		"":                         {channelKind{}, ""},
	} {
		if got := kindOf(name); got != want.kind {
			t.Errorf("kindOf(%q) = %+v, want %+v", name, got, want.kind)
		}
		if got := foldChannel(name); got != want.fold {
			t.Errorf("foldChannel(%q) = %q, want %q", name, got, want.fold)
		}
		if kindOf(want.fold) != want.kind || foldChannel(want.fold) != want.fold {
			t.Errorf("%q changes when it is folded twice", name)
		}
	}
	if foldNick("A[b]\xc4") != "a[b]\xc4" {
		t.Error("foldNick changes more than ASCII letters")
	}
}

// FuzzChannelName folds names: that keeps their kind, is idempotent, and keeps names
// apart that differ in more than case.
func FuzzChannelName(f *testing.F) {
	f.Add("#GSP!GmTest!MqNKN001KM", "#gsp!gmtest!mqnkn001km")
	f.Add("#GPG!12", "#gpg!12")
	f.Fuzz(func(t *testing.T, a, b string) {
		fold := foldChannel(a)
		if foldChannel(fold) != fold || kindOf(fold) != kindOf(a) || validChannel(fold) != validChannel(a) {
			t.Errorf("%q and %q, folded, are different", a, fold)
		}
		same := foldChannel(b) == fold
		switch equal := ascii.EqualFold(a, b); {
		case same && !equal, equal && !same && kindOf(a).room != roomStaging:
			t.Errorf("%q and %q: the same %v", a, b, same)
		}
	})
}
