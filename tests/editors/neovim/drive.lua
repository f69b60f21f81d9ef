-- Run inside Neovim by test_neovim.py: does what the scripts $SCENARIOS say a person does, and writes what was seen to $RESULT as JSON.
-- Waits are for a condition (vim.wait), never for a time.
local T = { seen = {}, notes = {} }
local DEADLINE = 60000

vim.notify = function(message)
  T.notes[#T.notes + 1] = message
end
vim.notify_once = vim.notify

function T.said(words)
  return table.concat(T.notes, "\n"):find(words, 1, true) ~= nil
end

function T.wait(what, condition)
  if not vim.wait(DEADLINE, condition, 10) then
    error("waited in vain for " .. what)
  end
end

-- Milliseconds until the condition holds.
function T.timed(what, condition)
  local begin = vim.loop.hrtime()
  T.wait(what, condition)
  return math.floor((vim.loop.hrtime() - begin) / 1e6)
end

function T.clients()
  return vim.tbl_filter(function(client)
    return client.name == "graphglue"
  end, (vim.lsp.get_clients or vim.lsp.get_active_clients)())
end

function T.wait_for_client(what)
  T.wait(what or "the client", function()
    return #T.clients() == 1 and T.clients()[1].initialized and vim.lsp.buf_is_attached(0, T.clients()[1].id)
  end)
end

function T.text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
end

function T.request(method, params, handler)
  local client = T.clients()[1]
  if vim.fn.has("nvim-0.11") == 1 then
    return client:request(method, params, handler, 0)
  end
  return client.request(method, params, handler, 0)
end

function T.cancel(id)
  local client = T.clients()[1]
  if vim.fn.has("nvim-0.11") == 1 then
    return client:cancel_request(id)
  end
  return client.cancel_request(id)
end

-- Until the server has done all that it was asked for.
function T.sync()
  local synced = false
  T.request("gg/sync", vim.empty_dict(), function()
    synced = true
  end)
  T.wait("gg/sync", function()
    return synced
  end)
end

local function diagnostics(predicted)
  return vim.tbl_filter(function(d)
    local is_current = d.severity ~= vim.diagnostic.severity.HINT -- what was edited since fades
    local is_ours = d.source == "graphglue" and type(d.code) == "string" and d.code:find("^GB")
    return is_ours and is_current and (d.message:find("(predicted", 1, true) ~= nil) == predicted
  end, vim.diagnostic.get(0))
end

function T.breaks()
  return diagnostics(false)
end

function T.predictions()
  return diagnostics(true)
end

-- The windows that float above the text: their lines, joined.
function T.float()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      local buffer = vim.api.nvim_win_get_buf(window)
      return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"), window
    end
  end
end

-- Chooses by title wherever a person is asked.
function T.choose(title)
  vim.ui.select = function(items, opts, on_choice)
    for i, item in ipairs(items) do
      if opts.format_item(item):find(title, 1, true) then
        return on_choice(item, i)
      end
    end
    error("not offered: " .. title)
  end
end

-- What the plugin shows beside the text: {line, words, above} of each.
function T.summaries()
  local namespace = vim.api.nvim_create_namespace("graphglue.summary")
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
    local above = mark[4].virt_lines ~= nil
    local chunks = above and mark[4].virt_lines[1] or mark[4].virt_text
    local words = table.concat(vim.tbl_map(function(chunk)
      return chunk[1]
    end, chunks))
    local line = vim.api.nvim_buf_get_lines(0, mark[2], mark[2] + 1, false)[1]
    found[#found + 1] = { line = line, words = words, above = above }
  end
  return found
end

function T.wait_for_summary(words)
  T.wait("the summary " .. words, function()
    local found = T.summaries()
    return #found == 1 and vim.trim(found[1].words) == words
  end)
end

function T.wait_for_status(words)
  T.wait("the status " .. words, function()
    return require("graphglue").status() == words
  end)
end

function T.health()
  vim.cmd("checkhealth graphglue")
  local said = T.text()
  vim.cmd("bwipeout")
  return said
end

-- Ends every server, and waits for that.
function T.finish()
  for _, client in ipairs(T.clients()) do
    vim.lsp.stop_client(client.id)
  end
  T.wait("the server's exit", function()
    return #T.clients() == 0
  end)
end

local ok, message = xpcall(function()
  for _, script in ipairs(vim.split(vim.env.SCENARIOS, " ")) do
    dofile(script)(T)
  end
end, debug.traceback)
T.seen.notes = table.concat(T.notes, "\n")
if not ok then
  T.seen.error = message
  T.seen.messages = vim.fn.execute("messages")
  T.seen.diagnostics = vim.inspect(vim.diagnostic.get(0))
end
local encode = vim.json and vim.json.encode or vim.fn.json_encode
vim.fn.writefile({ encode(T.seen) }, vim.env.RESULT)
vim.cmd("qall!")
