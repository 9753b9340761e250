package agents

func claude() Agent   { return Agent{Name: "claude"} }
func codex() Agent    { return Agent{Name: "codex"} }
func gemini() Agent   { return Agent{Name: "gemini"} }
func opencode() Agent { return Agent{Name: "opencode"} }
func aider() Agent    { return Agent{Name: "aider", Untested: true} }
