package vet

import "fmt"

// Rule names one reason for a refusal. The names are shown to people and are
// listed in docs/images.md.
type Rule string

// The rules.
const (
	RuleNameEmpty     Rule = "name-empty"     // a name is not empty
	RuleNameNUL       Rule = "name-nul"       // no name or target holds a NUL byte
	RuleNameAbsolute  Rule = "name-absolute"  // names are relative to the root
	RuleNameDotDot    Rule = "name-dotdot"    // no component is ".."
	RuleNameLength    Rule = "name-length"    // names are at most PathBytes long
	RuleNameComponent Rule = "name-component" // components are at most ComponentBytes long
	RuleNameDepth     Rule = "name-depth"     // names have at most Depth components
	RuleRootType      Rule = "root-type"      // the root is a directory
	RuleWhiteoutName  Rule = "whiteout-name"  // a whiteout names one ordinary sibling
	RuleWhiteoutType  Rule = "whiteout-type"  // a whiteout is a regular file
	RuleWhiteoutBody  Rule = "whiteout-body"  // a whiteout is empty
	RuleWhiteoutPath  Rule = "whiteout-path"  // only the last component may be a whiteout
	RuleEntryType     Rule = "entry-type"     // only files, directories, links and FIFOs
	RuleSparse        Rule = "sparse"         // no sparse files
	RuleFileSize      Rule = "file-size"      // a size is 0…FileBytes, and 0 without content
	RuleOwner         Rule = "owner"          // owners lie within the id map
	RuleLinkTarget    Rule = "link-target"    // a hard link names an entry below the root
	RuleLinkLength    Rule = "link-length"    // targets are 1…LinkBytes long
	RuleXattrCount    Rule = "xattr-count"    // at most XattrsPerEntry attributes
	RuleXattrSize     Rule = "xattr-size"     // values are at most XattrValueBytes long
	RulePaxSize       Rule = "pax-size"       // extended records are at most PaxBytes in all
	RuleEntryCount    Rule = "entry-count"    // entries per layer and per image
	RuleImageSize     Rule = "image-size"     // uncompressed bytes per layer and per image
	RuleExpansion     Rule = "expansion"      // a layer does not expand beyond ExpansionRatio
	RuleTrailing      Rule = "trailing-data"  // nothing but zero padding follows an archive
	RuleParent        Rule = "parent"         // parents are directories reached without leaving the root
)

// Refusal says that an image breaks a rule. It is returned as *Refusal.
type Refusal struct {
	Rule   Rule
	Name   string // the entry's name as found, may be hostile: print quoted
	Detail string
}

// Error names the entry and the rule.
func (r *Refusal) Error() string {
	return fmt.Sprintf("entry %.200q breaks rule %s: %s", r.Name, r.Rule, r.Detail)
}

func refuse(rule Rule, name, format string, args ...any) *Refusal {
	return &Refusal{Rule: rule, Name: name, Detail: fmt.Sprintf(format, args...)}
}
