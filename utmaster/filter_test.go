package utmaster

import (
	"net/netip"
	"testing"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/qr2"
)

func TestFilters(t *testing.T) {
	reg := master.NewRegistry(master.Limits{})
	put(t, reg, "ut2004", "192.0.2.1:7778", Origin, "gametype", "XGame.xDeathMatch", "numplayers", "3", "maxplayers", "16",
		ruleMutators, "MutInstaGib,UnrealGame.MutLowGrav", rulePassword, "True", ruleStatistics, "False", ruleTransloc, "true", ruleWeaponStay, "1",
		ruleMinPlayers, "0", ruleSkill, "3", "hostport", "7777")
	put(t, reg, "ut2004", "192.0.2.2:7778", Origin, "gametype", "xCTFGame", "numplayers", "16", "maxplayers", "16", ruleMutators, "",
		ruleMinPlayers, "4", "hostport", "7777")
	put(t, reg, "ut2004", "192.0.2.3:7778", qr2.OldOrigin, "hostport", "7777")
	const full, plain, bare = "1", "2", "3"
	for name, tt := range map[string]struct {
		f    Filter
		want string
	}{
		"type of game":                {Filter{"gametype", "xDeathMatch", opEqual}, full + bare},
		"type of game, other case":    {Filter{"GameType", "XDEATHMATCH", opEqual}, full + bare},
		"type of game with a package": {Filter{"gametype", "XGame.xCTFGame", opEqual}, plain + bare},
		"not the type of game":        {Filter{"gametype", "xDeathMatch", opUnequal}, plain + bare},
		"mutator":                     {Filter{"mutator", "mutinstagib", opEqual}, full + bare},
		"mutator with a package":      {Filter{"mutator", "MutLowGrav", opEqual}, full + bare},
		"not a mutator":               {Filter{"mutator", "MutInstaGib", opUnequal}, plain + bare},
		"mutator, another operator":   {Filter{"mutator", "MutInstaGib", opMore}, full + plain + bare},
		"password":                    {Filter{"password", "true", opEqual}, full + plain + bare},
		"no password":                 {Filter{"password", "true", opUnequal}, plain + bare},
		"password false":              {Filter{"password", "false", opEqual}, plain + bare},
		"statistics":                  {Filter{"stats", "true", opEqual}, plain + bare},
		"translocator":                {Filter{"transloc", "false", opEqual}, plain + bare},
		"weapons stay":                {Filter{"weaponstay", "true", opEqual}, full + plain + bare},
		"standard":                    {Filter{"standard", "true", opEqual}, plain + bare},
		"no mutators":                 {Filter{"nomutators", "true", opEqual}, plain + bare},
		"mutators":                    {Filter{"nomutators", "false", opEqual}, full + bare},
		"no bots":                     {Filter{"nobots", "true", opEqual}, full + bare},
		"not empty":                   {Filter{"currentplayers", "0", opMore}, full + plain},
		"empty":                       {Filter{"currentplayers", "0", opEqual}, bare},
		"below":                       {Filter{"currentplayers", "3", opLess}, bare},
		"at most":                     {Filter{"currentplayers", "3", opAtMost}, full + bare},
		"above":                       {Filter{"currentplayers", "3", opMore}, plain},
		"at least":                    {Filter{"currentplayers", "3", opAtLeast}, full + plain},
		"not full":                    {Filter{"freespace", "0", opMore}, full + bare},
		"skill":                       {Filter{"category", "3", opEqual}, full + plain + bare},
		"another skill":               {Filter{"category", "4", opEqual}, plain + bare},
		"disabled":                    {Filter{"gametype", "none", opDisabled}, full + plain + bare},
		"unknown key":                 {Filter{"moon", "full", opEqual}, full + plain + bare},
		"unknown operator":            {Filter{"gametype", "none", 7}, full + plain + bare},
		"no number":                   {Filter{"currentplayers", "many", opMore}, full + plain + bare},
	} {
		got := ""
		for _, at := range []string{"192.0.2.1:7778", "192.0.2.2:7778", "192.0.2.3:7778"} {
			srv, ok := reg.Find(netip.MustParseAddrPort(at))
			if !ok {
				t.Fatal(at)
			}
			if match([]Filter{tt.f}, srv) {
				got += at[len("192.0.2."):len("192.0.2.1")]
			}
		}
		if got != tt.want {
			t.Errorf("%s: servers %s, want %s", name, got, tt.want)
		}
	}
	srv, _ := reg.Find(netip.MustParseAddrPort("192.0.2.1:7778"))
	if match([]Filter{{"gametype", "xDeathMatch", opEqual}, {"currentplayers", "3", opMore}}, srv) {
		t.Error("one filter of two is enough")
	}
}

func TestUnknownFilterIsCounted(t *testing.T) {
	inBubble(t, nil, func(f *fixture) {
		f.populate()
		if list := f.browse(modernBrowser, Filter{"moon", "full", opEqual}); len(list) != 1 {
			t.Errorf("%+v", list)
		}
		if got := f.dropped(droppedFilter); got != 1 {
			t.Errorf("counted %d times", got)
		}
	})
}
