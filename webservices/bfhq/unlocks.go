package bfhq

import (
	"errors"
	"slices"
	"strconv"
)

// The values of PagesConfig.Unlocks.
const (
	unlocksNone = "none"
	unlocksRank = "rank"
	unlocksAll  = "all"
)

// unlock is a weapon that players can choose. One with a parent can be chosen after it.
type unlock struct {
	id, kit, parent int
	name            string
}

// unlocks are all weapons in the order of the original pages.
var unlocks = []unlock{
	{11, 0, 0, "Chsht_protecta"},
	{22, 1, 0, "Usrif_g3a3"},
	{33, 2, 0, "USSHT_Jackhammer"},
	{44, 3, 0, "Usrif_sa80"},
	{55, 4, 0, "Usrif_g36c"},
	{66, 5, 0, "RULMG_PKM"},
	{77, 6, 0, "USSNI_M95_Barret"},
	{88, 1, 22, "sasrif_fn2000"},
	{99, 2, 33, "sasrif_mp7"},
	{111, 3, 44, "sasrif_g36e"},
	{222, 4, 55, "usrif_fnscarl"},
	{333, 5, 66, "sasrif_mg36"},
	{444, 0, 11, "eurif_fnp90"},
	{555, 6, 77, "gbrif_l96a1"},
}

func unlockOf(id int) (unlock, bool) {
	i := slices.IndexFunc(unlocks, func(u unlock) bool { return u.id == id })
	if i < 0 {
		return unlock{}, false
	}
	return unlocks[i], true
}

// errUnlock reports a weapon that the player may not choose.
var errUnlock = errors.New("the weapon cannot be chosen")

// points returns how many weapons the player may still choose.
func (r *Record) points(policy string) int {
	if policy != unlocksRank {
		return 0
	}
	return max(pointsOf(r.Totals["rank"])-len(r.Unlocks), 0)
}

// choose takes a weapon. changed is false if the player has it already.
func (r *Record) choose(id int, policy string) (changed bool, err error) {
	u, ok := unlockOf(id)
	switch {
	case !ok:
		return false, errUnlock
	case policy == unlocksAll, slices.Contains(r.Unlocks, id):
		return false, nil
	case r.points(policy) == 0, u.parent != 0 && !slices.Contains(r.Unlocks, u.parent):
		return false, errUnlock
	}
	r.Unlocks = append(r.Unlocks, id)
	return true, nil
}

// states returns the rows of the page: numbers of weapons and s for those that the player has,
// n for the others. One that has a parent is missing until the player has that.
func (r *Record) states(policy string) (rows [][]string) {
	for _, u := range unlocks {
		has := func(id int) bool {
			return policy == unlocksAll || policy == unlocksRank && slices.Contains(r.Unlocks, id)
		}
		if u.parent != 0 && !has(u.parent) {
			continue
		}
		state := "n"
		if has(u.id) {
			state = "s"
		}
		rows = append(rows, []string{strconv.Itoa(u.id), state})
	}
	return rows
}
