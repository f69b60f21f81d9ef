-- Run inside Neovim by test_neovim.py: does what a person does, and writes what was seen to $RESULT as JSON.
-- Waits are for a condition (vim.wait), never for a time.
local seen = { version = tostring(vim.version().major) .. "." .. tostring(vim.version().minor) }
local DEADLINE = 120000

local function wait(what, condition)
  if not vim.wait(DEADLINE, condition, 20) then
    error("waited in vain for " .. what)
  end
end

local function clients()
  return vim.tbl_filter(function(client)
    return client.name == "graphglue"
  end, (vim.lsp.get_clients or vim.lsp.get_active_clients)())
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
end

local function request(method, params, handler)
  local client = clients()[1]
  if vim.fn.has("nvim-0.11") == 1 then
    return client:request(method, params, handler, 0)
  end
  return client.request(method, params, handler, 0)
end

local function cancel(id)
  local client = clients()[1]
  if vim.fn.has("nvim-0.11") == 1 then
    return client:cancel_request(id)
  end
  return client.cancel_request(id)
end

local function choose(title)
  vim.ui.select = function(items, opts, on_choice)
    for i, item in ipairs(items) do
      if opts.format_item(item):find(title, 1, true) then
        return on_choice(item, i)
      end
    end
    error("not offered: " .. title)
  end
end

local function main()
  local notes = {}
  vim.notify = function(message)
    notes[#notes + 1] = message
  end
  require("graphglue").setup({
    cmd = { vim.env.SERVER, "--stdio", "--test" },
    settings = { python = vim.env.PYTHON },
  })
  vim.cmd("edit model.py")
  wait("the client", function()
    return #clients() == 1 and clients()[1].initialized
  end)

  -- Trust: nothing runs before.
  vim.cmd("silent write")
  local synced = false
  request("gg/sync", vim.empty_dict(), function()
    synced = true
  end)
  wait("gg/sync", function()
    return synced
  end)
  seen.ran_before_trust = vim.fn.filereadable("ran") == 1
  vim.cmd("GraphglueTrust")
  wait("the client after trust", function()
    return #clients() == 1 and clients()[1].initialized
  end)
  seen.trust_notes = table.concat(notes, "\n")

  -- Before anything is captured the text alone tells it.
  local function diagnostics(predicted)
    return vim.tbl_filter(function(d)
      return d.source == "graphglue" and d.code ~= nil and (d.message:find("(predicted", 1, true) ~= nil) == predicted
    end, vim.diagnostic.get(0))
  end
  local function breaks()
    return diagnostics(false)
  end
  wait("a prediction", function()
    return #diagnostics(true) == 1
  end)

  -- Save: a diagnostic with code and link, in its place.
  vim.cmd("silent write")
  wait("a diagnostic", function()
    return #breaks() == 1
  end)
  seen.predicted = #diagnostics(true)
  local found = breaks()[1]
  seen.code, seen.message = found.code, found.message
  seen.link = found.user_data.lsp.codeDescription.href
  seen.line = vim.api.nvim_buf_get_lines(0, found.lnum, found.lnum + 1, false)[1]
  seen.covered = seen.line:sub(found.col + 1, found.end_col)

  -- Hover.
  vim.api.nvim_win_set_cursor(0, { found.lnum + 1, found.col })
  vim.lsp.buf.hover()
  wait("the hover window", function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= "" then
        local buffer = vim.api.nvim_win_get_buf(window)
        seen.hover = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
        vim.api.nvim_win_close(window, true)
        return true
      end
    end
  end)

  -- Cancel: a code action that is being verified.
  local range = {
    start = { line = found.lnum, character = found.col },
    ["end"] = { line = found.lnum, character = found.end_col },
  }
  local actions
  request("textDocument/codeAction", {
    textDocument = vim.lsp.util.make_text_document_params(),
    range = range,
    context = { diagnostics = {} },
  }, function(_, result)
    actions = result
  end)
  wait("code actions", function()
    return actions
  end)
  local answered = false
  local _, id = request("codeAction/resolve", actions[1], function()
    answered = true
  end)
  cancel(id)
  wait("the answer to a canceled request", function()
    return clients()[1].requests[id] == nil
  end)
  seen.canceled = not answered -- Neovim keeps the error RequestCancelled to itself; a result would have come here

  -- Glue this graph, and one undo.
  local original = text()
  choose("Glue this graph")
  vim.lsp.buf.code_action()
  wait("the verified edit", function()
    return text() ~= original
  end)
  seen.glued = text()
  vim.cmd("silent undo")
  seen.undone = text() == original
  vim.cmd("silent redo")
  vim.cmd("silent write")
  wait("the break to be gone", function()
    return #breaks() == 0
  end)

  -- Shutdown.
  for _, client in ipairs(clients()) do
    vim.lsp.stop_client(client.id)
  end
  wait("the server's exit", function()
    return #clients() == 0
  end)
end

local ok, message = xpcall(main, debug.traceback)
if not ok then
  seen.error = message
  seen.messages = vim.fn.execute("messages")
end
local encode = vim.json and vim.json.encode or vim.fn.json_encode
vim.fn.writefile({ encode(seen) }, vim.env.RESULT)
vim.cmd("qall!")
