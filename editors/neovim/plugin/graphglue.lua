if vim.g.loaded_graphglue then
  return
end
vim.g.loaded_graphglue = true

vim.api.nvim_create_user_command("GraphglueTrust", function()
  require("graphglue").trust()
end, { desc = "Allow graphglue-lsp to run the code of this buffer's project" })

vim.api.nvim_create_user_command("GraphglueDistrust", function()
  require("graphglue").distrust()
end, { desc = "No longer allow graphglue-lsp to run the code of this buffer's project" })

vim.api.nvim_create_user_command("GraphglueCapture", function()
  require("graphglue").capture()
end, { desc = "Look for graph breaks in this buffer now" })
