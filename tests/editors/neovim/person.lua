-- A file from its opening to its mended text, as a person would.  Leaves the server running, in a trusted project.
return function(T)
  local seen = T.seen
  require("graphglue").setup({
    cmd = { vim.env.SERVER, "--stdio", "--test" },
    settings = { python = vim.env.PYTHON },
  })

  -- What the text alone tells, before anything is run.
  local opened = vim.loop.hrtime()
  vim.cmd("edit model.py")
  T.wait("a prediction", function()
    return #T.predictions() == 1
  end)
  seen.ms_to_static = math.floor((vim.loop.hrtime() - opened) / 1e6)
  T.sync()
  seen.ran_before_trust = vim.fn.filereadable("ran") == 1

  -- Trust, and a diagnostic with code and link in its place.
  vim.cmd("GraphglueTrust")
  T.wait_for_client("the client after trust")
  T.wait("a diagnostic", function()
    return #T.breaks() == 1
  end)
  seen.predicted = #T.predictions()
  local found = T.breaks()[1]
  seen.code = found.code
  seen.link = found.user_data.lsp.codeDescription.href
  seen.line = vim.api.nvim_buf_get_lines(0, found.lnum, found.lnum + 1, false)[1]
  seen.covered = seen.line:sub(found.col + 1, found.end_col)
  T.wait_for_summary("2 graphs · 1 break")
  seen.summary = T.summaries()[1]
  T.wait_for_status("1 break")

  -- Edited, and saved.
  local row = found.lnum
  vim.api.nvim_buf_set_text(0, row, found.end_col - 1, row, found.end_col, { "1" })
  T.wait("the finding to fade", function()
    return #T.breaks() == 0
  end)
  local saved = vim.loop.hrtime()
  vim.cmd("silent write")
  T.wait("the diagnostic of what was saved", function()
    return #T.breaks() == 1
  end)
  seen.ms_to_confirmed = math.floor((vim.loop.hrtime() - saved) / 1e6)
  T.sync()
  T.wait_for_summary("2 graphs · 1 break")

  -- Hover, and the plugin's own explanation, from anywhere in the line.
  vim.api.nvim_win_set_cursor(0, { found.lnum + 1, found.col })
  vim.lsp.buf.hover()
  T.wait("the hover window", function()
    return T.float()
  end)
  local hover, window = T.float()
  seen.hover = hover
  vim.api.nvim_win_close(window, true)
  vim.api.nvim_win_set_cursor(0, { found.lnum + 1, 0 })
  vim.cmd("GraphglueExplain")
  T.wait("the explanation", function()
    return T.float()
  end)
  seen.explained, window = T.float()
  vim.api.nvim_set_current_win(window)
  vim.api.nvim_feedkeys("q", "xt", false)
  seen.closed = T.float() == nil
  vim.cmd("GraphglueExplain GG002")
  seen.rule, window = T.float()
  vim.api.nvim_win_close(window, true)

  -- Cancel: a code action that is being verified.
  local range = {
    start = { line = found.lnum, character = found.col },
    ["end"] = { line = found.lnum, character = found.end_col },
  }
  local actions
  T.request("textDocument/codeAction", {
    textDocument = vim.lsp.util.make_text_document_params(),
    range = range,
    context = { diagnostics = {} },
  }, function(_, result)
    actions = result
  end)
  T.wait("code actions", function()
    return actions
  end)
  local answered = false
  local _, id = T.request("codeAction/resolve", actions[1], function()
    answered = true
  end)
  T.cancel(id)
  T.wait("the answer to a canceled request", function()
    return T.clients()[1].requests[id] == nil
  end)
  seen.canceled = not answered -- Neovim keeps the error RequestCancelled to itself; a result would have come here
  T.sync()

  -- Glue this graph, from anywhere in the line, and one undo.
  vim.api.nvim_win_set_cursor(0, { found.lnum + 1, 0 })
  local original = T.text()
  vim.ui.select = function(items)
    seen.asked = items -- there is one edit, and what ignores the break is none
  end
  vim.cmd("GraphglueGlue")
  T.wait("the verified edit", function()
    return T.text() ~= original
  end)
  seen.glued = T.text()
  vim.cmd("silent undo")
  seen.undone = T.text() == original

  -- What is under way is in the message line, but not what nobody asked for.
  local echo, progress = vim.api.nvim_echo, require("graphglue.progress")
  seen.echoed = {}
  vim.api.nvim_echo = function(chunks)
    table.insert(seen.echoed, chunks[1][1])
  end
  for _, title in ipairs({ "graphglue: capturing", "graphglue: mending the file" }) do
    for _, value in ipairs({
      { kind = "begin", title = title },
      { kind = "report", message = "candidate 1: where" },
      { kind = "end" },
    }) do
      progress.on_progress(nil, { token = title, value = value }, { client_id = T.clients()[1].id })
    end
  end
  vim.api.nvim_echo = echo

  -- The same for the whole file.
  T.sync()
  vim.cmd("GraphglueGlueAll")
  T.wait("the edit of the whole file", function()
    return T.text() ~= original
  end)
  seen.glued_all = T.text()
  vim.cmd("silent undo")
  seen.undone_all = T.text() == original
  vim.cmd("silent redo")
  vim.cmd("silent write")
  T.wait("the break to be gone", function()
    return #T.breaks() == 0
  end)
  T.wait_for_summary("one graph")
  T.wait_for_status("no breaks")

  -- An edit that the verification refuses never reaches the buffer.
  vim.cmd("edit wrong.py")
  T.wait("the break of wrong.py", function()
    return #T.breaks() == 1
  end)
  T.sync()
  local wrong, ticks = T.text(), vim.api.nvim_buf_get_changedtick(0)
  found = T.breaks()[1]
  vim.api.nvim_win_set_cursor(0, { found.lnum + 1, found.col })
  vim.cmd("GraphglueGlue")
  T.wait("the refusal", function()
    return T.said("not applied") or vim.fn.execute("messages"):find("not applied", 1, true)
  end)
  T.sync()
  seen.kept = T.text() == wrong and vim.api.nvim_buf_get_changedtick(0) == ticks
end
