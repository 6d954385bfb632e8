package bfhq

import "slices"

// awardKeys are the keys that stand for awards in a round of Battlefield 2.
var awardKeys = map[string]int{
	// Badges, with a level of 1 to 3.
	"kcb": 1031406, "pcb": 1031619, "Acb": 1031119, "Atcb": 1031120, "Sncb": 1031109, "Socb": 1031115, "Sucb": 1031121, "Ecb": 1031105,
	"Mcb": 1031113, "Eob": 1032415, "Fab": 1190601, "Eb": 1190507, "Rb": 1191819, "Cb": 1190304, "Ab": 1220118, "Tb": 1222016,
	"Hb": 1220803, "Avb": 1220122, "adb": 1220104, "Swb": 1031923,
	"X1Acb": 1261119, "X1Atcb": 1261120, "X1Sncb": 1261109, "X1Socb": 1261115, "X1Sucb": 1261121, "X1Ecb": 1261105, "X1Mcb": 1261113,
	"X1fbb": 1260602, "X1ghb": 1260708, "X1zlb": 1262612,
	// Ribbons.
	"Car": 3240301, "Mur": 3211305, "Ior": 3150914, "Sor": 3151920, "Dsr": 3190409, "Wcr": 3242303, "Vur": 3212201, "Lmr": 3241213,
	"Csr": 3190318, "Arr": 3190118, "Aer": 3190105, "Hsr": 3190803, "Adr": 3040109, "Gdr": 3040718, "Ar": 3240102, "gcr": 3240703,
	"Msr": 3191305, "Fsr": 3190605, "Nas": 3271401,
	"X1Nss": 3261919, "X1Sas": 3261901, "X1Rsz": 3261819, "X1Msf": 3261319, "X1Reb": 3261805, "X1Ins": 3260914, "X1Csr": 3260318,
	"X1Arr": 3260118, "X1Aer": 3260105, "X1Hsr": 3260803,
	// Medals, which a player can get again.
	"erg": 2051907, "ers": 2051919, "erb": 2051902, "ph": 2191608, "Msm": 2191319, "Cam": 2190303, "Acm": 2190309, "Arm": 2190318,
	"Hcm": 2190308, "gcm": 2190703, "Cim": 2020903, "Mim": 2020913, "Sim": 2020919, "Mvm": 2021322, "Dsm": 2020419, "Ncm": 2021403,
	"Gsm": 2020719, "pmm": 2021613, "Eum": 2270521,
	"X1Nsm": 2261913, "X1Ssm": 2261919, "X1Spm": 2261613, "X1Mcm": 2261303, "X1Rbm": 2261802, "X1Inm": 2260914,
}

const maxBadge = 3 // the highest level

// Kinds of awards are the first digits of their numbers. All others are ribbons.
const (
	kindBadge = 1
	kindMedal = 2
	kindPin   = 4 // of Battlefield 2142, which counts like a medal
)

func kindOf(id int) int {
	for id > 9 {
		id /= 10
	}
	return id
}

// award adds an award that the player got at a time. A badge is listed with each of its levels,
// also with those below that the player has not got; a medal once, its level is how often.
func (r *Record) award(id, level int, at int64) {
	switch kindOf(id) {
	case kindMedal, kindPin:
		if i := slices.IndexFunc(r.Awards, func(a Award) bool { return a.ID == id }); i >= 0 {
			r.Awards[i].Level++
			r.Awards[i].When = at
			return
		}
		r.list(Award{id, 1, at, at})
	case kindBadge:
		for l := 1; l <= min(level, maxBadge); l++ {
			r.list(Award{id, l, at, 0})
		}
	default:
		r.list(Award{id, 1, at, 0})
	}
}

// list adds an award unless the player has it.
func (r *Record) list(a Award) {
	if len(r.Awards) < maxAwards && !slices.ContainsFunc(r.Awards, func(o Award) bool { return o.ID == a.ID && o.Level == a.Level }) {
		r.Awards = append(r.Awards, a)
	}
}
