package gpcm

import (
	"slices"
	"strings"
	"testing"

	"github.com/respawnd/respawnd/storage"
)

func TestPublicMask(t *testing.T) {
	p := storage.Profile{
		ID: 1, User: 1, Nick: "Ann", Homepage: "http://ann.example", Zip: "12345", Country: "DE",
		Birthday: 486672316, Sex: storage.SexFemale,
	}
	hidden := []string{"homepage", "zipcode", "countrycode", "birthday", "sex", "email"}
	for mask, want := range map[uint32][]string{
		0:            nil,
		1:            {"homepage"},
		2:            {"zipcode"},
		4:            {"countrycode"},
		8:            {"birthday"},
		16:           {"sex"},
		32:           {"email"},
		64:           nil, // the list of buddies, which is not in a profile
		^uint32(1):   hidden[1:],
		0xFFFFFFFF:   hidden,
		1 | 8 | 1<<9: {"homepage", "birthday"},
	} {
		message := string(appendProfile(nil, &p, "ann@example.com", "Ann", mask))
		var shown []string
		for _, key := range hidden {
			if strings.Contains(message, `\`+key+`\`) {
				shown = append(shown, key)
			}
		}
		if !slices.Equal(shown, want) {
			t.Errorf("mask %d shows %q, want %q", mask, shown, want)
		}
	}
}

func TestSetPublicMask(t *testing.T) {
	for value, tc := range map[string]struct {
		want uint32
		ok   bool
	}{
		"0":                    {0, true},
		"5":                    {5, true},
		"-1":                   {0xFFFFFFFF, true},
		"-2147483648":          {1 << 31, true},
		"4294967295":           {0xFFFFFFFF, true},
		"-2147483649":          {ok: false},
		"4294967296":           {ok: false},
		"":                     {ok: false},
		"all":                  {ok: false},
		"1x":                   {ok: false},
		"0x1":                  {ok: false},
		"99999999999999999999": {ok: false},
	} {
		var p storage.Profile
		known, ok := setField(&p, "publicmask", value)
		if !known || ok != tc.ok || ok && p.PublicMask != tc.want {
			t.Errorf("publicmask %q: mask %d, known %v, ok %v, want %d, true, %v", value, p.PublicMask, known, ok, tc.want, tc.ok)
		}
	}
	f := start(t, nil)
	p := f.signIn(f.register("Ann"), 11)
	for _, value := range []string{"7", "all"} {
		p.send(`\updatepro\\sesskey\$K\publicmask\%s\partnerid\0\final\`, value)
	}
	p.wantError(codeUpdatePro)
	profile, err := f.store.GetProfile(t.Context(), p.id)
	if err != nil || profile.PublicMask != 7 {
		t.Errorf("the mask is %d, %v, want 7", profile.PublicMask, err)
	}
}
